/* Hello and rekey: macs against values computed elsewhere (Python's hashlib), lines, and the
 * guest's rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/text.h"
#include "base/util.h"
#include "bridge/hello.h"
#include "guest/self.h"

#define NONCE     "paWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaU"
#define KEY       "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
#define OTHER_KEY "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8"
#define HELLO     "vsxqiF3XX57wR3nkS4x1eJTDcWX1tofzSH1NRLDrGZc"
#define REKEY     "Bq20FMhzTig98DYgXZSQ-GaUeymDImztTGb-Xq2ZgcA"
#define REKEYED   "ZBO6VZpPTl429s4O2oFufnKnNK8NjTfjOPTugON81ng"

#define ASK_HELLO "{\"guest\":\"hello\",\"nonce\":\"" NONCE "\"}"
#define ASK_REKEY(key)                                                                             \
	"{\"guest\":\"rekey\",\"sandbox\":\"s-42\",\"execution\":7,\"id\":\"g-1\",\"key\":\"" key  \
	"\"}"

static const struct sp_guest_name NAME = {"s-42", 7, "g-1"};
static const struct sp_guest_link LINK = {42, 1073741824};

static void bytes_of(const char *text, uint8_t bytes[32])
{
	size_t size;

	assert_true(sp_base64_decode(text, strlen(text), true, bytes, 32, &size));
	assert_int_equal(size, 32);
}

static void is(const uint8_t bytes[32], const char *expected)
{
	char text[44];

	sp_base64_encode(bytes, 32, true, text, sizeof(text));
	assert_string_equal(text, expected);
}

static void macs_are_what_others_compute(void **state)
{
	struct sp_hello_ask ask = {.kind = SP_HELLO_REKEY, .name = NAME};
	uint8_t key[32], other[32], nonce[32], mac[32];
	(void)state;

	bytes_of(KEY, key);
	bytes_of(OTHER_KEY, other);
	bytes_of(NONCE, nonce);
	sp_hello_mac(key, &NAME, &LINK, nonce, mac);
	is(mac, HELLO);
	memcpy(ask.key, other, 32);
	sp_rekey_ask_mac(key, &ask, &LINK, mac);
	is(mac, REKEY);
	sp_rekey_answer_mac(other, &NAME, &LINK, mac);
	is(mac, REKEYED);
}

/* Each value that the proof is of, changed alone, changes it. */
static void every_part_counts(void **state)
{
	uint8_t key[32], nonce[32], mac[32], changed[32];
	struct sp_guest_name names[] = {{"s-43", 7, "g-1"}, {"s-42", 8, "g-1"}, {"s-42", 7, "g-2"},
	    {"s-4", 7, "2g-1"}, {"s-42g", 7, "-1"}};
	struct sp_guest_link links[] = {{43, 1073741824}, {42, 1073741825}, {1073741824, 42}};
	(void)state;

	bytes_of(KEY, key);
	bytes_of(NONCE, nonce);
	sp_hello_mac(key, &NAME, &LINK, nonce, mac);
	for (size_t i = 0; i < SP_COUNT(names); i++) {
		sp_hello_mac(key, &names[i], &LINK, nonce, changed);
		assert_memory_not_equal(mac, changed, 32);
	}
	for (size_t i = 0; i < SP_COUNT(links); i++) {
		sp_hello_mac(key, &NAME, &links[i], nonce, changed);
		assert_memory_not_equal(mac, changed, 32);
	}
	nonce[31] ^= 1;
	sp_hello_mac(key, &NAME, &LINK, nonce, changed);
	assert_memory_not_equal(mac, changed, 32);
	nonce[31] ^= 1;
	key[0] ^= 1;
	sp_hello_mac(key, &NAME, &LINK, nonce, changed);
	assert_memory_not_equal(mac, changed, 32);
}

static void asks_survive_both_ways(void **state)
{
	static const char *const lines[] = {
	    ASK_HELLO,
	    ASK_REKEY(KEY),
	    "{\"guest\":\"rekey\",\"sandbox\":\"s-42\",\"execution\":7,\"id\":\"g-1\",\"key\":"
	    "\"" KEY "\",\"mac\":\"" REKEY "\"}",
	};
	(void)state;

	for (size_t i = 0; i < SP_COUNT(lines); i++) {
		struct sp_hello_ask ask;
		char line[SP_HELLO_LINE_MAX];
		assert_true(sp_hello_meant(lines[i], strlen(lines[i])));
		assert_int_equal(sp_hello_ask_parse(lines[i], strlen(lines[i]), &ask, NULL), 0);
		assert_int_equal(sp_hello_ask_print(&ask, line), strlen(lines[i]));
		assert_string_equal(line, lines[i]);
	}
}

static void anything_else_is_no_ask(void **state)
{
	static const char *const lines[] = {
	    "{\"guest\":\"hello\"}",
	    "{\"guest\":\"hello\",\"nonce\":\"\"}",
	    "{\"guest\":\"hello\",\"nonce\":\"" NONCE "=\"}",
	    "{\"guest\":\"hello\",\"nonce\":\"paWl\"}",
	    "{\"guest\":\"hello\",\"nonce\":\"" NONCE "\",\"execution\":7}",
	    "{\"guest\":\"HELLO\",\"nonce\":\"" NONCE "\"}",
	    "{\"guest\":1}",
	    "{\"guest\":\"rekey\",\"sandbox\":\"s-42\",\"execution\":7,\"id\":\"g-1\"}",
	    "{\"guest\":\"rekey\",\"sandbox\":\"s-42\",\"execution\":0,\"id\":\"g-1\",\"key\":"
	    "\"" KEY "\"}",
	    "{\"guest\":\"rekey\",\"sandbox\":\"..\",\"execution\":7,\"id\":\"g-1\",\"key\":\"" KEY
	    "\"}",
	    "{\"guest\":\"rekey\",\"sandbox\":\"s-42\",\"execution\":7,\"id\":\"\",\"key\":\"" KEY
	    "\"}",
	    "{\"guest\":\"rekey\",\"sandbox\":\"s-42\",\"execution\":7,\"id\":\"g-1\",\"key\":"
	    "\"" KEY "\",\"mac\":\"\"}",
	    "{\"guest\":\"hello\",\"nonce\":\"" NONCE "\"}{}",
	};
	char line[2 * SP_HELLO_LINE_MAX];
	struct sp_hello_ask ask = {.kind = SP_HELLO_REKEY};
	(void)state;

	for (size_t i = 0; i < SP_COUNT(lines); i++)
		assert_int_equal(
		    sp_hello_ask_parse(lines[i], strlen(lines[i]), &ask, NULL), SP_E_BAD_RECORD);
	memset(line, ' ', sizeof(line));
	memcpy(line, ASK_HELLO, sizeof(ASK_HELLO) - 1);
	assert_int_equal(sp_hello_ask_parse(line, sizeof(line), &ask, NULL), SP_E_BAD_RECORD);
	assert_false(sp_hello_meant("{\"id\":\"1\"}", 10));
	assert_false(sp_hello_meant("", 0));
}

static void only_the_right_answer_passes(void **state)
{
	static const struct {
		const char *line;
		enum sp_hello_kind kind;
		int code;
	} rows[] = {
	    {"{\"guest\":\"hello\",\"mac\":\"" HELLO "\"}", SP_HELLO_HELLO, 0},
	    {"{\"guest\":\"rekey\",\"mac\":\"" HELLO "\"}", SP_HELLO_REKEY, 0},
	    {"{\"guest\":\"hello\",\"mac\":\"" HELLO "\"}", SP_HELLO_REKEY, SP_E_BAD_RECORD},
	    {"{\"guest\":\"rekey\",\"mac\":\"" HELLO "\"}", SP_HELLO_HELLO, SP_E_BAD_RECORD},
	    {"{\"guest\":\"hello\",\"mac\":\"" REKEY "\"}", SP_HELLO_HELLO, SP_E_DENIED},
	    {"{\"guest\":\"error\",\"message\":\"no key\"}", SP_HELLO_HELLO, SP_E_DENIED},
	    {"{\"guest\":\"error\"}", SP_HELLO_HELLO, SP_E_BAD_RECORD},
	    {"{\"guest\":\"hello\"}", SP_HELLO_HELLO, SP_E_BAD_RECORD},
	    {"{\"guest\":\"hello\",\"mac\":\"\"}", SP_HELLO_HELLO, SP_E_BAD_RECORD},
	    {"{\"id\":\"1\",\"status\":\"ok\",\"result\":{}}", SP_HELLO_HELLO, SP_E_BAD_RECORD},
	    {ASK_HELLO, SP_HELLO_HELLO, SP_E_BAD_RECORD},
	    {"", SP_HELLO_HELLO, SP_E_BAD_RECORD},
	};
	uint8_t mac[32];
	(void)state;

	bytes_of(HELLO, mac);
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_err err = {0};
		assert_int_equal(sp_hello_answer_check(
				     rows[i].line, strlen(rows[i].line), rows[i].kind, mac, &err),
		    rows[i].code);
	}
}

static const char *say(struct sp_guest_self *self, const char *line, bool *ret_stay)
{
	static char answer[SP_HELLO_LINE_MAX];
	struct sp_guest_verdict verdict;

	(void)sp_guest_self_answer(self, line, strlen(line), &LINK, answer, &verdict);
	*ret_stay = verdict.passed && strcmp(verdict.op, "guest.hello") == 0;
	assert_int_equal(verdict.passed, verdict.words[0] == '\0');
	return answer;
}

/* A rekey to a key, proven by the current one. */
static const char *proven(const char *key, const char *current)
{
	static char line[SP_HELLO_LINE_MAX];
	struct sp_hello_ask ask = {.kind = SP_HELLO_REKEY, .name = NAME, .has_mac = true};
	uint8_t bytes[32];

	bytes_of(key, ask.key);
	bytes_of(current, bytes);
	sp_rekey_ask_mac(bytes, &ask, &LINK, ask.mac);
	assert_true(sp_hello_ask_print(&ask, line) > 0);
	return line;
}

#define ANSWER_HELLO "{\"guest\":\"hello\",\"mac\":\"" HELLO "\"}"
#define NO_KEY       "{\"guest\":\"error\",\"message\":\"this guest has no key yet\"}"
#define KEYED                                                                                      \
	"{\"guest\":\"error\",\"message\":\"this guest has a key already: a rekey must prove "     \
	"it\"}"
#define WRONG_KEY "{\"guest\":\"error\",\"message\":\"the proof is not of this guest's key\"}"

static void the_first_rekey_is_free_and_every_other_proven(void **state)
{
	struct sp_guest_self *self;
	bool stay = true;
	(void)state;

	assert_int_equal(sp_guest_self_new(NULL, &self, NULL), 0);
	assert_string_equal(say(self, ASK_HELLO, &stay), NO_KEY);
	assert_false(stay);
	assert_string_equal(say(self, proven(KEY, OTHER_KEY), &stay), NO_KEY);
	assert_non_null(strstr(say(self, ASK_REKEY(KEY), &stay), "{\"guest\":\"rekey\",\"mac\":"));
	assert_false(stay);
	assert_string_equal(say(self, ASK_HELLO, &stay), ANSWER_HELLO);
	assert_true(stay);
	/* Keyed: nobody takes it over, not even with the same key. */
	assert_string_equal(say(self, ASK_REKEY(OTHER_KEY), &stay), KEYED);
	assert_string_equal(say(self, ASK_REKEY(KEY), &stay), KEYED);
	assert_string_equal(say(self, proven(OTHER_KEY, OTHER_KEY), &stay), WRONG_KEY);
	assert_string_equal(say(self, ASK_HELLO, &stay), ANSWER_HELLO);
	/* Under the current key it moves on, and the old one is worth nothing. */
	assert_string_equal(say(self, proven(OTHER_KEY, KEY), &stay),
	    "{\"guest\":\"rekey\",\"mac\":\"" REKEYED "\"}");
	assert_string_not_equal(say(self, ASK_HELLO, &stay), ANSWER_HELLO);
	assert_string_equal(say(self, proven(KEY, KEY), &stay), WRONG_KEY);
	sp_guest_self_free(self);
}

/* A recorded rekey is worth nothing on another connection. */
static void a_proof_is_of_one_connection(void **state)
{
	struct sp_guest_link other = {LINK.cid, LINK.port + 1};
	const char *line = proven(OTHER_KEY, KEY);
	char answer[SP_HELLO_LINE_MAX];
	struct sp_guest_verdict verdict;
	struct sp_guest_self *self;
	bool stay;
	(void)state;

	assert_int_equal(sp_guest_self_new(NULL, &self, NULL), 0);
	(void)say(self, ASK_REKEY(KEY), &stay);
	(void)sp_guest_self_answer(self, line, strlen(line), &other, answer, &verdict);
	assert_string_equal(verdict.op, "guest.rekey");
	assert_string_equal(answer, WRONG_KEY);
	sp_guest_self_free(self);
}

static void a_key_outlives_the_agent_but_not_the_boot(void **state)
{
	char file[] = "/tmp/sp-self-XXXXXX/key", directory[] = "/tmp/sp-self-XXXXXX";
	struct sp_guest_self *self;
	struct stat info;
	bool stay;
	FILE *out;
	(void)state;

	assert_non_null(mkdtemp(directory));
	memcpy(file, directory, strlen(directory));
	assert_int_equal(sp_guest_self_new(file, &self, NULL), 0);
	assert_non_null(strstr(say(self, ASK_REKEY(KEY), &stay), "\"rekey\""));
	sp_guest_self_free(self);
	assert_int_equal(stat(file, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0600);
	assert_int_equal(sp_guest_self_new(file, &self, NULL), 0);
	assert_string_equal(say(self, ASK_HELLO, &stay), ANSWER_HELLO);
	sp_guest_self_free(self);

	assert_int_equal(chmod(file, 0644), 0);
	assert_int_equal(sp_guest_self_new(file, &self, NULL), SP_E_BAD_KEY);
	assert_int_equal(chmod(file, 0600), 0);
	out = fopen(file, "r+");
	assert_non_null(out);
	assert_true(fputs("00000000", out) >= 0);
	(void)fclose(out);
	assert_int_equal(sp_guest_self_new(file, &self, NULL), 0);
	assert_string_equal(say(self, ASK_HELLO, &stay), NO_KEY);
	sp_guest_self_free(self);

	out = fopen(file, "w");
	assert_non_null(out);
	(void)fputs("nonsense\n", out);
	(void)fclose(out);
	assert_int_equal(sp_guest_self_new(file, &self, NULL), SP_E_BAD_KEY);
	(void)unlink(file);
	assert_int_equal(rmdir(directory), 0);
}

static void a_key_that_cannot_be_kept_is_not_taken(void **state)
{
	struct sp_guest_self *self;
	bool stay;
	(void)state;

	assert_int_equal(sp_guest_self_new("/nowhere/at/all", &self, NULL), 0);
	assert_non_null(strstr(say(self, ASK_REKEY(KEY), &stay), "\"error\""));
	assert_string_equal(say(self, ASK_HELLO, &stay), NO_KEY);
	sp_guest_self_free(self);
}

static void nonsense_is_answered_in_words(void **state)
{
	char answer[SP_HELLO_LINE_MAX], line[4096];
	struct sp_guest_verdict verdict;
	struct sp_guest_self *self;
	(void)state;

	assert_int_equal(sp_guest_self_new(NULL, &self, NULL), 0);
	memset(line, 'x', sizeof(line));
	assert_true(sp_guest_self_answer(self, line, sizeof(line), &LINK, answer, &verdict) > 0);
	assert_memory_equal(answer, "{\"guest\":\"error\",", 17);
	assert_false(verdict.passed);
	assert_null(verdict.op);
	sp_guest_self_free(self);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(macs_are_what_others_compute),
	    cmocka_unit_test(every_part_counts),
	    cmocka_unit_test(asks_survive_both_ways),
	    cmocka_unit_test(anything_else_is_no_ask),
	    cmocka_unit_test(only_the_right_answer_passes),
	    cmocka_unit_test(the_first_rekey_is_free_and_every_other_proven),
	    cmocka_unit_test(a_proof_is_of_one_connection),
	    cmocka_unit_test(a_key_outlives_the_agent_but_not_the_boot),
	    cmocka_unit_test(a_key_that_cannot_be_kept_is_not_taken),
	    cmocka_unit_test(nonsense_is_answered_in_words),
	};

	return cmocka_run_group_tests_name("hello", tests, NULL, NULL);
}
