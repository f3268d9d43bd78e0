/* The operations table, row by row as 07-operations has it, and what an access entry covers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "record/op.h"

/* flags: s stream, 1 single-use, b rebuilt, u retried unsent, p retried possibly sent, r resync */
static const struct {
	const char *name, *purpose, *audience, *flags;
} ROWS[] = {
    {"ping", "control", "sbx-manager", "--bup-"},
    {"guest.info", "control", "sbx-manager", "--bup-"},
    {"file.read", "control", "sbx-manager", "--bup-"},
    {"file.stat", "control", "sbx-manager", "--bup-"},
    {"file.list", "control", "sbx-manager", "--bup-"},
    {"file.write", "control", "sbx-manager", "--bu--"},
    {"file.mkdir", "control", "sbx-manager", "--bu--"},
    {"file.rename", "control", "sbx-manager", "--bu--"},
    {"file.remove", "control", "sbx-manager", "--bu--"},
    {"file.chmod", "control", "sbx-manager", "--bu--"},
    {"tree.get", "control", "sbx-manager", "s-bu--"},
    {"tree.put", "control", "sbx-manager", "s-bu--"},
    {"file.watch", "control", "sbx-manager", "s-bupr"},
    {"exec.run", "control", "sbx-manager", "-1bu--"},
    {"exec.start", "control", "sbx-manager", "-1bu--"},
    {"terminal.open", "control", "sbx-manager", "-1bu--"},
    {"exec.list", "control", "sbx-manager", "--bup-"},
    {"exec.signal", "control", "sbx-manager", "-1----"},
    {"terminal.resize", "control", "sbx-manager", "-1----"},
    {"exec.attach", "attach", "sbx-manager", "s1bup-"},
    {"port.connect", "service-port", "netgtw", "s1bu--"},
    {"lease.status", "manage", "sbx-manager", "---up-"},
    {"lease.list", "manage", "sbx-manager", "---up-"},
    {"lease.cancel", "manage", "sbx-manager", "---up-"},
};

static void flags_of(const struct sp_op *op, char *text)
{
	text[0] = op->stream ? 's' : '-';
	text[1] = op->single_use ? '1' : '-';
	text[2] = op->rebuilt ? 'b' : '-';
	text[3] = op->retry_unsent ? 'u' : '-';
	text[4] = op->retry_sent ? 'p' : '-';
	text[5] = op->resync ? 'r' : '-';
	text[6] = '\0';
}

static void every_row_is_as_specified(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_COUNT(ROWS); i++) {
		const struct sp_op *op = sp_op_find(ROWS[i].name);
		char flags[8];
		if (!op)
			fail_msg("%s: not there", ROWS[i].name);
		flags_of(op, flags);
		if (strcmp(flags, ROWS[i].flags) != 0)
			fail_msg("%s: %s, not %s", ROWS[i].name, flags, ROWS[i].flags);
		assert_string_equal(sp_purpose_name(op->purpose), ROWS[i].purpose);
		assert_string_equal(sp_purpose_audience(op->purpose), ROWS[i].audience);
	}
}

static void there_are_no_other_rows(void **state)
{
	static const char *const unknown[] = {
	    "", "pin", "pingx", "Ping", "file", "file.", "file.*", "guest.rekey", "guest.hello"};
	size_t count = 0;

	(void)state;
	while (sp_op_at(count))
		count++;
	assert_int_equal(count, SP_COUNT(ROWS));
	for (size_t i = 0; i < SP_COUNT(unknown); i++)
		assert_null(sp_op_find(unknown[i]));
}

static void names_are_read_as_they_are_written(void **state)
{
	static const char *const unknown[] = {"", "Control", "serviceport", "udp", "https", "TCP"};
	enum sp_purpose purpose = SP_PURPOSE_COUNT;
	enum sp_protocol protocol = SP_PROTOCOL_COUNT;

	(void)state;
	for (enum sp_purpose i = 0; i < SP_PURPOSE_COUNT; i++) {
		assert_true(sp_purpose_parse(sp_purpose_name(i), &purpose));
		assert_int_equal(purpose, i);
	}
	for (enum sp_protocol i = 0; i < SP_PROTOCOL_COUNT; i++) {
		assert_true(sp_protocol_parse(sp_protocol_name(i), &protocol));
		assert_int_equal(protocol, i);
	}
	for (size_t i = 0; i < SP_COUNT(unknown); i++) {
		assert_false(sp_purpose_parse(unknown[i], &purpose));
		assert_false(sp_protocol_parse(unknown[i], &protocol));
	}
	assert_int_equal(purpose, SP_PURPOSE_COUNT - 1);
	assert_int_equal(protocol, SP_PROTOCOL_COUNT - 1);
}

static void access_entries(void **state)
{
	static const struct {
		const char *entry;
		bool valid;
	} cases[] = {
	    {"ping", true},
	    {"file.read", true},
	    {"file.*", true},
	    {"exec.*", true},
	    {"lease.*", true},
	    {"port.*", true},
	    {"", false},
	    {"*", false},
	    {".*", false},
	    {"*.*", false},
	    {"fil.*", false},
	    {"file*", false},
	    {"file.", false},
	    {"file.r*", false},
	    {"file.read.*", false},
	    {"file.*.*", false},
	    {"ping.*", false},
	    {"guest.rekey", false},
	    {"File.*", false},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++)
		if (sp_access_entry_valid(cases[i].entry) != cases[i].valid)
			fail_msg("%s", cases[i].entry);
}

static void what_an_entry_covers(void **state)
{
	static const struct {
		const char *entry, *op;
		bool capability, grant;
	} cases[] = {
	    {"file.read", "file.read", true, true},
	    {"file.read", "file.stat", false, false},
	    {"file.*", "file.read", true, true},
	    {"file.*", "file.watch", true, true},
	    {"file.*", "filex.read", false, false},
	    {"file.*", "file.unknown", false, false},
	    {"file.*", "file.*", false, false},
	    {"exec.run", "exec.run", true, true},
	    {"exec.*", "exec.run", false, true},
	    {"exec.*", "exec.signal", false, true},
	    {"exec.*", "exec.list", true, true},
	    {"terminal.*", "terminal.resize", false, true},
	    {"port.*", "port.connect", false, true},
	    {"guest.*", "guest.info", true, true},
	    {"guest.*", "guest.rekey", false, false},
	    {"*", "ping", false, false},
	    {"", "ping", false, false},
	    {".*", "ping", false, false},
	};

	(void)state;
	for (size_t i = 0; i < SP_COUNT(cases); i++)
		if (sp_access_entry_covers(cases[i].entry, cases[i].op, false) !=
			cases[i].capability ||
		    sp_access_entry_covers(cases[i].entry, cases[i].op, true) != cases[i].grant)
			fail_msg("%s %s", cases[i].entry, cases[i].op);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_row_is_as_specified),
	    cmocka_unit_test(there_are_no_other_rows),
	    cmocka_unit_test(names_are_read_as_they_are_written),
	    cmocka_unit_test(access_entries),
	    cmocka_unit_test(what_an_entry_covers),
	};

	return cmocka_run_group_tests_name("op", tests, NULL, NULL);
}
