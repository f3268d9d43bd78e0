/* Tables as people see them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/util.h"
#include "cli/table.h"

static char printed[4096];

static const char *print(struct sp_table *table, bool color, unsigned width)
{
	FILE *out = fmemopen(printed, sizeof(printed), "w");

	assert_non_null(out);
	assert_int_equal(sp_table_print(table, out, color, width), 0);
	assert_int_equal(fclose(out), 0);
	return printed;
}

static struct sp_table *new_table(void)
{
	static const char *const headings[] = {"key", "value", "from", NULL};
	struct sp_table *table = sp_table_new(headings);

	assert_non_null(table);
	return table;
}

static void add(
    struct sp_table *table, enum sp_tone tone, const char *a, const char *b, const char *c)
{
	const char *cells[] = {a, b, c};

	assert_int_equal(sp_table_add(table, tone, cells), 0);
}

static void what_must_be_read_whole_goes_on_below_itself(void **state)
{
	struct sp_table *table = new_table();

	(void)state;
	sp_table_wrap(table);
	add(table, SP_TONE_BAD, "pod", "0b9fa3b1-3d4e-4f50", "caf\xc3\xa9 au lait");
	assert_string_equal(print(table, false, 0),
	    "key  value               from\n"
	    "pod  0b9fa3b1-3d4e-4f50  caf\xc3\xa9 au lait\n");
	assert_string_equal(print(table, false, 28), "key  value       from\n"
						     "pod  0b9fa3b1-   caf\xc3\xa9 au\n"
						     "     3d4e-4f50   lait\n");
	sp_table_free(table);
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
	struct sp_table *table = new_table();

	(void)state;
	assert_string_equal(print(table, false, 0), "key  value  from\n");
	add(table, SP_TONE_PLAIN, "realm", "r", "default");
	add(table, SP_TONE_GOOD, NULL, "caf\xc3\xa9 au lait", "");
	assert_string_equal(print(table, false, 0), "key    value         from\n"
						    "realm  r             default\n"
						    "-      caf\xc3\xa9 au lait  \n");
	sp_table_free(table);
}

static void colour_goes_around_the_line_only_when_asked_for(void **state)
{
	struct sp_table *table = new_table();

	(void)state;
	add(table, SP_TONE_BAD, "a", "b", "c");
	add(table, SP_TONE_PLAIN, "a", "b", "c");
	assert_string_equal(print(table, true, 0), "\033[1mkey  value  from\033[0m\n"
						   "\033[31ma    b      c\033[0m\n"
						   "a    b      c\n");
	assert_null(strchr(print(table, false, 0), '\033'));
	sp_table_free(table);
}

static void nothing_in_a_cell_moves_the_cursor(void **state)
{
	struct sp_table *table = new_table();

	(void)state;
	add(table, SP_TONE_PLAIN, "a\033[2J", "b\nc\td\177", "\xff\xc2\x9b");
	assert_string_equal(print(table, false, 0), "key    value   from\n"
						    "a?[2J  b?c?d?  ???\n");
	sp_table_free(table);
}

static void the_widest_column_is_cut_to_fit(void **state)
{
	struct sp_table *table = new_table();

	(void)state;
	add(table, SP_TONE_PLAIN, "abc", "0123456789", "file");
	assert_string_equal(print(table, false, 21), "key  value       from\n"
						     "abc  0123456789  file\n");
	assert_string_equal(print(table, false, 20), "key  value      from\n"
						     "abc  01234567…  file\n");
	/* Never below what still says something. */
	assert_string_equal(print(table, false, 5), "key  value   from\n"
						    "abc  01234…  file\n");
	sp_table_free(table);
}

static void cutting_keeps_characters_whole(void **state)
{
	struct sp_table *table = new_table();

	(void)state;
	add(table, SP_TONE_PLAIN, "", "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9",
	    "");
	assert_string_equal(print(table, false, 10),
	    "key  value   from\n     \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9…  \n");
	sp_table_free(table);
}

static void many_rows_stay_in_order(void **state)
{
	struct sp_table *table = new_table();
	char want[4096] = "key  value  from\n";

	(void)state;
	for (int i = 0; i < 100; i++) {
		char number[8];
		(void)snprintf(number, sizeof(number), "%d", i);
		add(table, SP_TONE_PLAIN, number, "", "");
		(void)sprintf(want + strlen(want), "%-3d         \n", i);
	}
	assert_string_equal(print(table, false, 0), want);
	sp_table_free(table);
	sp_table_free(NULL);
}

/* How many rows of a list of `count` are written while it grows; all of them in `printed`. */
static long stream(
    struct sp_table *table, size_t count, const char *last, unsigned width, char *to, size_t room)
{
	FILE *out = fmemopen(to, room, "w");
	const char *few[] = {"k", "v", "f"};
	const char *late[] = {"k", last, "f"};
	long early;

	assert_non_null(out);
	sp_table_stream(table, 2, out, false, width);
	for (size_t i = 1; i < count; i++)
		assert_int_equal(sp_table_add(table, SP_TONE_PLAIN, few), 0);
	assert_int_equal(sp_table_add(table, SP_TONE_PLAIN, late), 0);
	early = ftell(out);
	assert_int_equal(sp_table_finish(table), 0);
	assert_int_equal(fclose(out), 0);
	return early;
}

static void a_long_list_goes_out_while_it_grows(void **state)
{
	static char all[65536];
	const char *row = "k    v      f\n";
	size_t each = strlen(row);
	struct sp_table *table = new_table();

	(void)state;
	assert_int_equal(stream(table, SP_TABLE_HELD - 1, "v", 0, all, sizeof(all)), 0);
	sp_table_free(table);
	table = new_table();
	/* The last is wider than all that the widths were made of: whole all the same. */
	assert_int_equal(stream(table, SP_TABLE_HELD + 1, "longer than all", 0, all, sizeof(all)),
	    strlen("key  value  from\n") + SP_TABLE_HELD * each +
		strlen("k    longer than all  f\n"));
	assert_memory_equal(all, "key  value  from\n", 17);
	assert_memory_equal(all + 17, row, each);
	assert_string_equal(all + 17 + SP_TABLE_HELD * each, "k    longer than all  f\n");
	sp_table_free(table);
	table = new_table();
	(void)stream(table, SP_TABLE_HELD + 1, "0123456789", 20, all, sizeof(all));
	assert_string_equal(all + 17 + SP_TABLE_HELD * each, "k    01234  f\n     56789  \n");
	sp_table_free(table);
	assert_int_equal(sp_table_finish(NULL), 0);
}

static void what_comes_late_into_an_empty_column_ends(void **state)
{
	static const char *const headings[] = {"k", "", NULL};
	static char all[65536];
	const char *empty[] = {"k", ""}, *late[] = {"k", "ab"};
	struct sp_table *table = sp_table_new(headings);
	FILE *out = fmemopen(all, sizeof(all), "w");

	(void)state;
	assert_non_null(table);
	assert_non_null(out);
	sp_table_stream(table, 2, out, false, 20);
	for (size_t i = 0; i < SP_TABLE_HELD; i++)
		assert_int_equal(sp_table_add(table, SP_TONE_PLAIN, empty), 0);
	assert_int_equal(sp_table_add(table, SP_TONE_PLAIN, late), 0);
	assert_int_equal(sp_table_finish(table), 0);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(all + strlen(all) - 10, "k  a\n   b\n");
	sp_table_free(table);
}

static void columns_without_room_are_left_out(void **state)
{
	static char all[4096];
	struct sp_table *table = new_table();

	(void)state;
	(void)stream(table, 1, "0123456789", 21, all, sizeof(all));
	assert_string_equal(all, "key  value       from\nk    0123456789  f\n");
	sp_table_free(table);
	table = new_table();
	(void)stream(table, 1, "0123456789", 20, all, sizeof(all));
	assert_string_equal(all, "key  value\nk    0123456789\n");
	sp_table_free(table);
	table = new_table();
	(void)stream(table, 1, "0123456789", 10, all, sizeof(all));
	assert_string_equal(all, "key  value\nk    01234\n     56789\n");
	sp_table_free(table);
}

static void a_full_disk_is_told(void **state)
{
	struct sp_table *table = new_table();
	FILE *out = fopen("/dev/full", "we");

	(void)state;
	(void)setvbuf(out, NULL, _IONBF, 0);
	assert_int_equal(sp_table_print(table, out, false, 0), -EIO);
	(void)fclose(out);
	sp_table_free(table);
}

static void a_word_in_its_tone(void **state)
{
	FILE *out = fmemopen(printed, sizeof(printed), "w");

	(void)state;
	sp_tone_print(out, true, SP_TONE_GOOD, "match");
	sp_tone_print(out, false, SP_TONE_BAD, "deny");
	sp_tone_print(out, true, SP_TONE_PLAIN, "plain");
	assert_int_equal(fclose(out), 0);
	assert_string_equal(printed, "\033[32mmatch\033[0mdenyplain");
}

static void the_width_is_the_terminals(void **state)
{
	sp_auto_fd int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	sp_auto_fd int null = open("/dev/null", O_WRONLY | O_CLOEXEC), side = -1;
	struct winsize size = {.ws_col = 132, .ws_row = 40};

	(void)state;
	assert_int_equal(sp_table_width(null), 0);
	assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
	side = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(side >= 0);
	assert_int_equal(sp_table_width(side), 80);
	assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
	assert_int_equal(sp_table_width(side), 132);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_must_be_read_whole_goes_on_below_itself),
	    cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
	    cmocka_unit_test(colour_goes_around_the_line_only_when_asked_for),
	    cmocka_unit_test(nothing_in_a_cell_moves_the_cursor),
	    cmocka_unit_test(the_widest_column_is_cut_to_fit),
	    cmocka_unit_test(cutting_keeps_characters_whole),
	    cmocka_unit_test(many_rows_stay_in_order),
	    cmocka_unit_test(a_long_list_goes_out_while_it_grows),
	    cmocka_unit_test(what_comes_late_into_an_empty_column_ends),
	    cmocka_unit_test(columns_without_room_are_left_out),
	    cmocka_unit_test(a_full_disk_is_told),
	    cmocka_unit_test(a_word_in_its_tone),
	    cmocka_unit_test(the_width_is_the_terminals),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
