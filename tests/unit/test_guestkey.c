/* Guest keys: one secret a file, which nobody else can read and no name leads out of. */
#include "store_fixture.h"

#include "store/guestkey.h"

static const uint8_t KEY[SP_GUEST_KEY_SIZE] = "0123456789abcdefghijklmnopqrstu";

static void path_of(const struct scratch *s, const char *id, char path[128])
{
	(void)snprintf(path, 128, "%s/" SP_GUEST_KEYS_PATH "/%s", s->path, id);
}

static void a_key_is_read_back_until_it_is_removed(void **state)
{
	struct scratch *s = *state;
	uint8_t key[SP_GUEST_KEY_SIZE];
	struct stat info;
	char path[128];

	assert_int_equal(sp_guest_key_read(s->path, "g-1", key, NULL), SP_E_ABSENT);
	assert_int_equal(sp_guest_key_create(s->path, "g-1", (uid_t)-1, KEY, NULL), 0);
	assert_int_equal(sp_guest_key_create(s->path, "g-1", (uid_t)-1, KEY, NULL), -EEXIST);
	assert_int_equal(sp_guest_key_read(s->path, "g-1", key, NULL), 0);
	assert_memory_equal(key, KEY, sizeof(key));
	path_of(s, "g-1", path);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0600);
	path_of(s, "", path);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0711);
	assert_int_equal(sp_guest_key_remove(s->path, "g-1", NULL), 0);
	assert_int_equal(sp_guest_key_remove(s->path, "g-1", NULL), SP_E_ABSENT);
}

static void a_key_that_others_can_read_is_refused(void **state)
{
	struct scratch *s = *state;
	uint8_t key[SP_GUEST_KEY_SIZE];
	char path[128];

	assert_int_equal(sp_guest_key_create(s->path, "g-1", (uid_t)-1, KEY, NULL), 0);
	path_of(s, "g-1", path);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(sp_guest_key_read(s->path, "g-1", key, NULL), SP_E_BAD_KEY);
}

static void what_is_no_key_is_refused(void **state)
{
	static const char *const texts[] = {"", "\n", "short\n",
	    "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dQB\n", /* a stray bit at the end */
	    "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dQA more\n"};
	struct scratch *s = *state;
	uint8_t key[SP_GUEST_KEY_SIZE];
	char path[128];

	assert_int_equal(sp_guest_key_create(s->path, "g-1", (uid_t)-1, KEY, NULL), 0);
	path_of(s, "g-1", path);
	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		FILE *file = fopen(path, "w");
		assert_int_equal(fputs(texts[i], file) < 0, 0);
		assert_int_equal(fclose(file), 0);
		assert_int_equal(sp_guest_key_read(s->path, "g-1", key, NULL), SP_E_BAD_KEY);
	}
}

static void no_name_leads_out_of_the_directory(void **state)
{
	static const char *const names[] = {"", ".", "..", "../s-42.json", "a/b", "-x"};
	struct scratch *s = *state;
	uint8_t key[SP_GUEST_KEY_SIZE];

	for (size_t i = 0; i < SP_COUNT(names); i++) {
		assert_int_equal(
		    sp_guest_key_create(s->path, names[i], (uid_t)-1, KEY, NULL), SP_E_USAGE);
		assert_int_equal(sp_guest_key_read(s->path, names[i], key, NULL), SP_E_USAGE);
		assert_int_equal(sp_guest_key_remove(s->path, names[i], NULL), SP_E_USAGE);
	}
}

static void ids_that_were_tried_are_kept_in_order(void **state)
{
	struct scratch *s = *state;
	char ids[SP_GUEST_TRIED_MAX][SP_ID_MAX + 1] = {"g-3", "g-2", "g-1"};
	char seen[SP_GUEST_TRIED_MAX][SP_ID_MAX + 1];
	unsigned count = 99;

	assert_int_equal(sp_guest_tried_read(s->path, "s-42", seen, &count, NULL), 0);
	assert_int_equal(count, 0);
	assert_int_equal(sp_guest_tried_write(s->path, "s-42", ids, 3, NULL), 0);
	assert_int_equal(sp_guest_tried_read(s->path, "s-42", seen, &count, NULL), 0);
	assert_int_equal(count, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_string_equal(seen[i], ids[i]);
	assert_int_equal(sp_guest_tried_read(s->path, "s-43", seen, &count, NULL), 0);
	assert_int_equal(count, 0);
	for (unsigned i = 0; i < SP_GUEST_TRIED_MAX; i++) {
		memset(ids[i], 'x', SP_ID_MAX);
		ids[i][SP_ID_MAX] = '\0';
	}
	/* More than fits is cut, not overrun. */
	assert_int_equal(sp_guest_tried_write(s->path, "s-42", ids, 100, NULL), 0);
	assert_int_equal(sp_guest_tried_read(s->path, "s-42", seen, &count, NULL), 0);
	assert_int_equal(count, SP_GUEST_TRIED_MAX);
	assert_string_equal(seen[SP_GUEST_TRIED_MAX - 1], ids[0]);
	assert_int_equal(sp_guest_tried_read(s->path, "../s", seen, &count, NULL), SP_E_USAGE);
}

static void a_key_from_elsewhere_is_loaded_under_the_same_rules(void **state)
{
	struct scratch *s = *state;
	uint8_t key[SP_GUEST_KEY_SIZE];
	char path[128];

	assert_int_equal(sp_guest_key_create(s->path, "g-1", (uid_t)-1, KEY, NULL), 0);
	path_of(s, "g-1", path);
	assert_int_equal(sp_guest_key_load(path, key, NULL), 0);
	assert_memory_equal(key, KEY, sizeof(key));
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(sp_guest_key_load(path, key, NULL), SP_E_BAD_KEY);
	assert_int_equal(sp_guest_key_load("/nowhere", key, NULL), SP_E_ABSENT);
}

#define T(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(a_key_is_read_back_until_it_is_removed),
	    T(a_key_that_others_can_read_is_refused),
	    T(what_is_no_key_is_refused),
	    T(no_name_leads_out_of_the_directory),
	    T(ids_that_were_tried_are_kept_in_order),
	    T(a_key_from_elsewhere_is_loaded_under_the_same_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
