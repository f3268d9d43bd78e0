/* space.ini: every default, every bound, and each refusal with its file and line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/file.h"
#include "base/util.h"
#include "cli/config.h"

static char path[] = "/tmp/test-config-XXXXXX";
static struct sp_config config;

static int setup(void **state)
{
	int fd;

	(void)state;
	(void)strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(path);
	return 0;
}

static int load_bytes(const char *text, size_t size, struct sp_err *err)
{
	int bad = sp_file_replace(AT_FDCWD, path, 0600, text, size, NULL);

	assert_int_equal(bad, 0);
	memset(&config, 0x5a, sizeof(config));
	return sp_config_load(path, false, &config, err);
}

static int load(const char *text, struct sp_err *err)
{
	return load_bytes(text, strlen(text), err);
}

static const char *value_of(const char *section, const char *key, enum sp_config_source *source)
{
	static struct sp_config_row row;

	for (unsigned i = 0; sp_config_row(&config, i, &row); i++)
		if (strcmp(row.section, section) == 0 && strcmp(row.key, key) == 0) {
			*source = row.source;
			return row.value;
		}
	return NULL;
}

static const struct {
	const char *section, *key, *value;
	enum sp_config_source source;
} DEFAULTS[] = {
    {"space", "realm", "space", SP_CONFIG_DEFAULT},
    {"space", "name", "control-plane", SP_CONFIG_DEFAULT},
    {"space", "worker", "", SP_CONFIG_DEFAULT},
    {"space", "state_dir", "/var/lib/space", SP_CONFIG_DEFAULT},
    {"space", "run_dir", "/run/space", SP_CONFIG_DEFAULT},
    {"keys", "secret", "/etc/space/signer.key", SP_CONFIG_DEFAULT},
    {"keys", "bundle", "/var/lib/space/keys", SP_CONFIG_DERIVED},
    {"keys", "url", "", SP_CONFIG_DEFAULT},
    {"keys", "root", "", SP_CONFIG_DEFAULT},
    {"keys", "max_skew", "15", SP_CONFIG_DEFAULT},
    {"signer", "socket", "/run/space/signer.sock", SP_CONFIG_DERIVED},
    {"signer", "allow_uids", "", SP_CONFIG_DEFAULT},
    {"registry", "url", "sqlite:/var/lib/space/registry.db", SP_CONFIG_DERIVED},
    {"registry", "timeout_ms", "2000", SP_CONFIG_DEFAULT},
    {"registry", "tls_ca", "", SP_CONFIG_DEFAULT},
    {"registry", "tls_cert", "", SP_CONFIG_DEFAULT},
    {"registry", "tls_key", "", SP_CONFIG_DEFAULT},
    {"cache", "socket", "/run/space/cache.sock", SP_CONFIG_DERIVED},
    {"cache", "allow_uids", "", SP_CONFIG_DEFAULT},
    {"cache", "session_ttl", "900", SP_CONFIG_DEFAULT},
    {"cache", "max_entries", "1000000", SP_CONFIG_DEFAULT},
    {"manager", "socket", "/run/space/manager.sock", SP_CONFIG_DERIVED},
    {"manager", "uid", "", SP_CONFIG_DEFAULT},
    {"manager", "allow_uids", "", SP_CONFIG_DEFAULT},
    {"manager", "max_inflight", "256", SP_CONFIG_DEFAULT},
    {"manager", "timeout_ms", "30000", SP_CONFIG_DEFAULT},
    {"bridge", "min_level", "full", SP_CONFIG_DEFAULT},
    {"bridge", "connect_timeout_ms", "2000", SP_CONFIG_DEFAULT},
    {"bridge", "manager_exe", "", SP_CONFIG_DEFAULT},
    {"bridge", "manager_uid", "", SP_CONFIG_DEFAULT},
    {"guest", "port", "5005", SP_CONFIG_DEFAULT},
    {"guest", "root", "/", SP_CONFIG_DEFAULT},
    {"guest", "max_sessions", "64", SP_CONFIG_DEFAULT},
    {"guest", "max_tree_mib", "16384", SP_CONFIG_DEFAULT},
    {"guest", "max_tree_entries", "1000000", SP_CONFIG_DEFAULT},
    {"gateway", "listen", "", SP_CONFIG_DEFAULT},
    {"gateway", "http", "no", SP_CONFIG_DEFAULT},
    {"gateway", "uid", "", SP_CONFIG_DEFAULT},
    {"gateway", "exe", "", SP_CONFIG_DEFAULT},
    {"gateway", "tls_cert", "", SP_CONFIG_DEFAULT},
    {"gateway", "tls_key", "", SP_CONFIG_DEFAULT},
    {"gateway", "deny_ports", "", SP_CONFIG_DEFAULT},
    {"gateway", "half_close_timeout", "60", SP_CONFIG_DEFAULT},
    {"gateway", "max_streams", "1000", SP_CONFIG_DEFAULT},
    {"streams", "cut_timeout", "2.000", SP_CONFIG_DEFAULT},
    {"streams", "reattach_timeout", "30", SP_CONFIG_DEFAULT},
    {"audit", "file", "", SP_CONFIG_DEFAULT},
};

static void check_defaults(void)
{
	struct sp_config_row row;
	unsigned count = 0;

	for (size_t i = 0; i < SP_COUNT(DEFAULTS); i++) {
		enum sp_config_source source = SP_CONFIG_FILE;
		const char *value = value_of(DEFAULTS[i].section, DEFAULTS[i].key, &source);
		if (!value || strcmp(value, DEFAULTS[i].value) != 0 || source != DEFAULTS[i].source)
			fail_msg("[%s] %s: %s", DEFAULTS[i].section, DEFAULTS[i].key,
			    value ? value : "no such row");
	}
	while (sp_config_row(&config, count, &row)) {
		assert_true(row.unit[0] && row.help[0]);
		count++;
	}
	assert_int_equal(count, SP_COUNT(DEFAULTS));
}

static void every_key_has_its_default(void **state)
{
	struct sp_err err = {0};

	(void)state;
	assert_int_equal(load("", &err), 0);
	check_defaults();
	memset(&config, 0, sizeof(config));
	assert_int_equal(sp_config_load(NULL, false, &config, &err), 0);
	check_defaults();
	assert_int_equal(sp_config_load("/nonexistent/space.ini", true, &config, &err), 0);
	check_defaults();
}

#define ROOT "k4.public.BW_Tny6tniEzkzTsRvpOEInXJ_6TZvoOC5RqCROYyug"

static void every_key_is_read(void **state)
{
	static const struct {
		const char *section, *key, *written, *value;
	} cases[] = {
	    {"space", "realm", "eu-1", "eu-1"},
	    {"space", "worker", "worker-a", "worker-a"},
	    {"space", "worker", "", ""},
	    {"keys", "url", "https://x/y?z=1;2", "https://x/y?z=1;2"},
	    {"keys", "root", ROOT " " ROOT, ROOT " " ROOT},
	    {"keys", "root", "", ""},
	    {"keys", "max_skew", "0", "0"},
	    {"keys", "max_skew", "15", "15"},
	    {"signer", "allow_uids", "0 7,8", "0 7 8"},
	    {"signer", "allow_uids", "root", "0"},
	    {"signer", "allow_uids", "4294967294", "4294967294"},
	    {"registry", "url", "sqlite:/x/y.db", "sqlite:/x/y.db"},
	    {"registry", "url", "etcd:https://a:2379,b:2379/p", "etcd:https://a:2379,b:2379/p"},
	    {"registry", "tls_ca", "/x/ca.pem", "/x/ca.pem"},
	    {"manager", "socket", "/x/manager.sock", "/x/manager.sock"},
	    {"bridge", "min_level", "launch-pidfd", "launch-pidfd"},
	    {"guest", "port", "65535", "65535"},
	    {"gateway", "http", "yes", "yes"},
	    {"gateway", "deny_ports", "22, 5005", "22 5005"},
	    {"streams", "cut_timeout", "0.001", "0.001"},
	    {"streams", "cut_timeout", "2.5", "2.500"},
	    {"streams", "cut_timeout", "60", "60.000"},
	    {"audit", "file", "/var/log/space \xc3\xa9.log", "/var/log/space \xc3\xa9.log"},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		enum sp_config_source source;
		struct sp_err err = {0};
		char text[512];
		(void)snprintf(text, sizeof(text), "[%s]\n%s = %s\n", cases[i].section,
		    cases[i].key, cases[i].written);
		assert_int_equal(load(text, &err), 0);
		assert_string_equal(
		    value_of(cases[i].section, cases[i].key, &source), cases[i].value);
		assert_int_equal(source, SP_CONFIG_FILE);
	}
}

static void forms_that_are_fine(void **state)
{
	static const char *const texts[] = {
	    "[space]\nrealm=r\n",
	    "[space]\nrealm = r",
	    "[space]\r\nrealm = r\r\n",
	    "; comment\n# comment = [x]\n\n  \n\t\n[space]\nrealm =   r  \t\n",
	    "[keys]\n[space]\n[keys]\nmax_skew = 1\n[space]\nrealm = r\n",
	    "[space]\nrealm = r                                                              "
	    "                                                                                "
	    "                                                                                \n",
	};
	enum sp_config_source source;

	(void)state;
	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		struct sp_err err = {0};
		if (load(texts[i], &err) < 0)
			fail_msg("case %zu: %s", i, err.message);
		assert_string_equal(value_of("space", "realm", &source), "r");
	}
}

static void sockets_and_keys_follow_their_directories(void **state)
{
	enum sp_config_source source;

	(void)state;
	assert_int_equal(
	    load("[manager]\nsocket = /m\n[space]\nrun_dir = /r\nstate_dir = /s\n", NULL), 0);
	assert_string_equal(value_of("cache", "socket", &source), "/r/cache.sock");
	assert_int_equal(source, SP_CONFIG_DERIVED);
	assert_string_equal(value_of("manager", "socket", &source), "/m");
	assert_int_equal(source, SP_CONFIG_FILE);
	assert_string_equal(value_of("registry", "url", &source), "sqlite:/s/registry.db");
	assert_string_equal(value_of("keys", "bundle", &source), "/s/keys");
}

#define LONG_NAME         "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
#define IN(section, line) "[" section "]\n" line "\n"

static const struct {
	const char *text;
	unsigned line;
	const char *words;
} REFUSALS[] = {
    {"realm = r\n", 1, "[] realm: no such key; it belongs to [space]"},
    {"[nonsense]\n", 1, "section: no such section; space.ini(5) lists them"},
    {"[space\n", 1, "section: no such section; did you mean [space]?"},
    {"[space] x\n", 1, "section: no such section; did you mean [space]?"},
    {"[ space ]\n", 1, "section: no such section; did you mean [space]?"},
    {"[Space]\n", 1, "section: no such section; did you mean [space]?"},
    {"[space];\n", 1, "section: no such section; did you mean [space]?"},
    {"[]\n", 1, "section: no such section; space.ini(5) lists them"},
    {"[mangaer]\n", 1, "section: no such section; did you mean [manager]?"},
    {IN("space", "nonsense = r"), 2, "[space] nonsense: no such key; space.ini(5) lists them"},
    {IN("space", "min_level = full"), 2, "[space] min_level: no such key; it belongs to [bridge]"},
    {IN("space", "realms = r"), 2, "[space] realms: no such key; did you mean `realm`?"},
    {IN("space", "Realm = r"), 2, "[space] Realm: no such key; did you mean `realm`?"},
    {IN("keys", "realm = r"), 2, "[keys] realm: no such key; it belongs to [space]"},
    {IN("space", "= r"), 2, "[space] : no such key; space.ini(5) lists them"},
    {IN("space", "realm = a\nrealm = a"), 3, "[space] realm: given twice"},
    {IN("space", "realm = a\n[keys]\n[space]\nrealm = b"), 5, "[space] realm: given twice"},
    {IN("space", "realm"), 2, "line: neither [section] nor key = value"},
    {IN("space", "realm: r"), 2, "line: neither [section] nor key = value"},
    {IN("space", "realm: a = b"), 2, "line: neither [section] nor key = value"},
    {IN("space", "realm\n[nonsense]"), 2, "line: neither [section] nor key = value"},
    {IN("space", " realm = r"), 2, "line: starts with white space"},
    {IN("space", "realm = r\n\tmore"), 3, "line: starts with white space"},
    {"  [space]\n", 1, "line: starts with white space"},
    {IN("space", "realm = r ; why"), 2, "line: a comment stands on a line of its own"},
    {IN("space", "realm = r\t; why"), 2, "line: a comment stands on a line of its own"},
    {IN("space", "state_dir = /s # why"), 2, "line: a comment stands on a line of its own"},
    {"[space] ; why\n", 1, "line: a comment stands on a line of its own"},
    {"\xef\xbb\xbf[space]\n", 1, "line: not plain UTF-8 text"},
    {IN("space", "realm = caf\xe9"), 2, "line: not plain UTF-8 text"},
    {IN("audit", "file = /x\033[2J"), 2, "line: not plain UTF-8 text"},
    {"# caf\xe9\n", 1, "line: not plain UTF-8 text"},
    {IN("space", "realm ="), 2, "[space] realm: empty"},
    {IN("space", "name ="), 2, "[space] name: empty"},
    {IN("space", "state_dir ="), 2, "[space] state_dir: empty"},
    {IN("manager", "socket ="), 2, "[manager] socket: empty"},
    {IN("bridge", "min_level ="), 2, "[bridge] min_level: empty"},
    {IN("space", "realm = a b"), 2, "[space] realm: not a name ([A-Za-z0-9][A-Za-z0-9._-]{0,127})"},
    {IN("space", "worker = ../w"), 2,
	"[space] worker: not a name ([A-Za-z0-9][A-Za-z0-9._-]{0,127})"},
    {IN("space", "state_dir = var/lib"), 2, "[space] state_dir: not an absolute path"},
    {IN("space", "realm = " LONG_NAME LONG_NAME LONG_NAME), 2, "[space] realm: too long"},
    {IN("keys", "max_skew = 16"), 2, "[keys] max_skew: not a whole number in its range"},
    {IN("keys", "max_skew = -1"), 2, "[keys] max_skew: not a whole number in its range"},
    {IN("keys", "max_skew ="), 2, "[keys] max_skew: not a whole number in its range"},
    {IN("keys", "max_skew = 0x1"), 2, "[keys] max_skew: not a whole number in its range"},
    {IN("keys", "max_skew = 1.5"), 2, "[keys] max_skew: not a whole number in its range"},
    {IN("keys", "max_skew = 015"), 2, "[keys] max_skew: not a whole number in its range"},
    {IN("cache", "max_entries = 0"), 2, "[cache] max_entries: not a whole number in its range"},
    {IN("registry", "timeout_ms = 60001"), 2,
	"[registry] timeout_ms: not a whole number in its range"},
    {IN("guest", "port = 65536"), 2, "[guest] port: not a whole number in its range"},
    {IN("guest", "port = 99999999999999999999"), 2,
	"[guest] port: not a whole number in its range"},
    {IN("keys", "root = k4.secret.x"), 2, "[keys] root: not one or two k4.public keys"},
    {IN("keys", "root = k4.public.short"), 2, "[keys] root: not one or two k4.public keys"},
    {IN("registry", "url = mysql:foo"), 2,
	"[registry] url: neither sqlite: and an absolute path nor etcd:http[s]://..."},
    {IN("registry", "url = sqlite:x.db"), 2,
	"[registry] url: neither sqlite: and an absolute path nor etcd:http[s]://..."},
    {IN("gateway", "http = true"), 2, "[gateway] http: neither yes nor no"},
    {IN("gateway", "http = YES"), 2, "[gateway] http: neither yes nor no"},
    {IN("gateway", "deny_ports = 22 x"), 2, "[gateway] deny_ports: not a port (1 to 65535)"},
    {IN("gateway", "deny_ports = 0"), 2, "[gateway] deny_ports: not a port (1 to 65535)"},
    {IN("gateway", "deny_ports = 65536"), 2, "[gateway] deny_ports: not a port (1 to 65535)"},
    {IN("gateway",
	 "deny_ports = 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 "
	 "2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2"),
	2, "[gateway] deny_ports: more than 64 ports"},
    {IN("manager", "uid = nobody-of-that-name"), 2,
	"[manager] uid: neither a uid nor the name of a user here"},
    {IN("manager", "uid = 4294967295"), 2,
	"[manager] uid: neither a uid nor the name of a user here"},
    {IN("manager", "uid = -1"), 2, "[manager] uid: neither a uid nor the name of a user here"},
    {IN("cache", "allow_uids = 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17"), 2,
	"[cache] allow_uids: more than 16 uids"},
    {IN("bridge", "min_level = none"), 2, "[bridge] min_level: none of full, pidfd, launch-pidfd"},
    {IN("streams", "cut_timeout = 0"), 2,
	"[streams] cut_timeout: not a number of seconds in its range"},
    {IN("streams", "cut_timeout = 60.001"), 2,
	"[streams] cut_timeout: not a number of seconds in its range"},
    {IN("streams", "cut_timeout = 2."), 2,
	"[streams] cut_timeout: not a number of seconds in its range"},
    {IN("streams", "cut_timeout = .5"), 2,
	"[streams] cut_timeout: not a number of seconds in its range"},
    {IN("streams", "cut_timeout = 0.0001"), 2,
	"[streams] cut_timeout: not a number of seconds in its range"},
    {IN("streams", "cut_timeout = 1.5s"), 2,
	"[streams] cut_timeout: not a number of seconds in its range"},
    {IN("streams", "cut_timeout = 1.-5"), 2,
	"[streams] cut_timeout: not a number of seconds in its range"},
    {IN("streams", "cut_timeout = 1e1"), 2,
	"[streams] cut_timeout: not a number of seconds in its range"},
};

static void every_refusal_names_file_line_and_key(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(REFUSALS); i++) {
		struct sp_err err = {0};
		char words[256];
		(void)snprintf(
		    words, sizeof(words), "%s:%u: %s", path, REFUSALS[i].line, REFUSALS[i].words);
		if (load(REFUSALS[i].text, &err) != SP_E_CONFIG || strcmp(err.message, words) != 0)
			fail_msg("%s: `%s`, not `%s`", REFUSALS[i].text, err.message, words);
		/* Untouched. */
		assert_int_equal(*(const unsigned char *)&config, 0x5a);
	}
}

static void nul_bytes_are_refused(void **state)
{
	static const struct {
		const char *text;
		size_t size;
		unsigned line;
	} cases[] = {
	    {"[space]\nrealm = r\0\n", 19, 2},
	    {"[space]\nrealm = r\0 ; x\n", 23, 2},
	    {"\0", 1, 1},
	    {"[space]\n\0\nrealm = r\n", 20, 2},
	    {"[space]\nrealm = r\n\0", 19, 3},
	    {"# \0\n", 4, 1},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_err err = {0};
		char words[128];
		assert_int_equal(load_bytes(cases[i].text, cases[i].size, &err), SP_E_CONFIG);
		(void)snprintf(
		    words, sizeof(words), "%s:%u: line: not plain UTF-8 text", path, cases[i].line);
		assert_string_equal(err.message, words);
	}
}

/* Lines around inih's buffer: none is cut in two, none ends the reading early. */
static void the_longest_line_is_exact(void **state)
{
	static const struct {
		size_t length;
		bool good;
	} cases[] = {{197, true}, {200, true}, {1020, true}, {1021, true}, {1022, false},
	    {1023, false}, {1024, false}, {1025, false}, {1800, false}};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		char text[2048] = "[audit]\nfile = /", words[128];
		size_t used = strlen(text);
		enum sp_config_source source;
		struct sp_err err = {0};
		memset(text + used, 'x', cases[i].length - 8);
		(void)strcpy(text + 8 + cases[i].length, "\n[space]\nrealm = r\n");
		assert_int_equal(load(text, &err), cases[i].good ? 0 : SP_E_CONFIG);
		if (cases[i].good) {
			assert_int_equal(
			    strlen(value_of("audit", "file", &source)), cases[i].length - 7);
			assert_string_equal(value_of("space", "realm", &source), "r");
			continue;
		}
		(void)snprintf(words, sizeof(words), "%s:2: line: longer than 1021 bytes", path);
		assert_string_equal(err.message, words);
	}
}

static void a_file_that_is_none_is_refused(void **state)
{
	char fifo[64], words[128];
	struct sp_err err = {0};

	(void)state;
	assert_int_equal(
	    sp_config_load("/nonexistent/space.ini", false, &config, &err), SP_E_CONFIG);
	assert_string_equal(err.message, "/nonexistent/space.ini: No such file or directory");
	assert_int_equal(sp_config_load("/tmp", false, &config, &err), SP_E_CONFIG);
	assert_string_equal(err.message, "/tmp: not a regular file");
	assert_int_equal(sp_config_load("/tmp", true, &config, &err), SP_E_CONFIG);
	assert_int_equal(sp_config_load("/dev/zero", false, &config, &err), SP_E_CONFIG);
	assert_string_equal(err.message, "/dev/zero: not a regular file");
	(void)snprintf(fifo, sizeof(fifo), "%s.fifo", path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(sp_config_load(fifo, false, &config, &err), SP_E_CONFIG);
	assert_int_equal(unlink(fifo), 0);
	(void)snprintf(words, sizeof(words), "%s: not a regular file", fifo);
	assert_string_equal(err.message, words);
}

static void a_file_has_a_bound(void **state)
{
	sp_auto_free char *text = malloc(SP_CONFIG_FILE_MAX + 2);
	struct sp_err err = {0};
	char words[128];

	(void)state;
	memset(text, '\n', SP_CONFIG_FILE_MAX + 1);
	assert_int_equal(load_bytes(text, SP_CONFIG_FILE_MAX, &err), 0);
	assert_int_equal(load_bytes(text, SP_CONFIG_FILE_MAX + 1, &err), SP_E_CONFIG);
	(void)snprintf(words, sizeof(words), "%s: larger than %u bytes", path, SP_CONFIG_FILE_MAX);
	assert_string_equal(err.message, words);
}

static void a_list_of_uids_says_who_is_in_it_and_an_empty_one_our_own(void **state)
{
	const struct sp_uid_list none = {0}, two = {2, {geteuid() + 1, 70000}};

	(void)state;
	assert_true(sp_uid_list_allows(&none, geteuid()));
	assert_false(sp_uid_list_allows(&none, geteuid() + 1));
	assert_true(sp_uid_list_allows(&two, 70000));
	assert_true(sp_uid_list_allows(&two, geteuid() + 1));
	assert_false(sp_uid_list_allows(&two, geteuid()));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(every_key_has_its_default),
	    TEST(every_key_is_read),
	    TEST(forms_that_are_fine),
	    TEST(sockets_and_keys_follow_their_directories),
	    TEST(every_refusal_names_file_line_and_key),
	    TEST(nul_bytes_are_refused),
	    TEST(the_longest_line_is_exact),
	    TEST(a_file_that_is_none_is_refused),
	    TEST(a_file_has_a_bound),
	    cmocka_unit_test(a_list_of_uids_says_who_is_in_it_and_an_empty_one_our_own),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
