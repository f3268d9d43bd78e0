/* Processes kept from the first look on: the same evidence is of the same process, or of none. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>
#include "attest/kept.h"
#include "base/io.h"
#include "base/limits.h"

static uint64_t last_cookie;

/* Of a child that waits to be ended. */
static struct sp_evidence a_child(struct sp_process *process)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(pause());
	assert_int_equal(sp_process_pin(pid, -1, process), 0);
	return (struct sp_evidence){
	    .pid = pid, .start_time = 1, .start_stack = 2, .listener.cookie = ++last_cookie};
}

static void end(struct sp_process *process)
{
	(void)kill(process->pid, SIGKILL);
	(void)waitpid(process->pid, NULL, 0);
	sp_process_unpin(process);
}

static void a_process_that_lives_is_the_same(void **unused)
{
	struct sp_process process, again;
	struct sp_evidence evidence = a_child(&process);

	(void)unused;
	assert_int_equal(sp_kept_look(&evidence, &process), 1);
	assert_int_equal(sp_process_pin(process.pid, -1, &again), 0);
	assert_int_equal(sp_kept_look(&evidence, &again), 1);
	sp_process_unpin(&again);
	end(&process);
}

static void whatever_follows_one_that_has_exited_is_another(void **unused)
{
	struct sp_process process, later;
	struct sp_evidence evidence = a_child(&process), other;

	(void)unused;
	assert_int_equal(sp_kept_look(&evidence, &process), 1);
	end(&process);
	other = a_child(&later);
	/* As if it had got the number of the first. */
	assert_int_equal(sp_kept_look(&evidence, &later), 0);
	assert_int_equal(sp_kept_look(&other, &later), 1);
	end(&later);
}

static void a_listener_enrolled_anew_is_looked_at_anew(void **unused)
{
	struct sp_process process, later;
	struct sp_evidence evidence = a_child(&process);

	(void)unused;
	assert_int_equal(sp_kept_look(&evidence, &process), 1);
	end(&process);
	(void)a_child(&later);
	evidence.listener.cookie = ++last_cookie;
	assert_int_equal(sp_kept_look(&evidence, &later), 1);
	end(&later);
}

static void a_full_table_forgets_only_those_that_have_exited(void **unused)
{
	struct sp_process live, dead;
	struct sp_evidence evidence = a_child(&live), gone = a_child(&dead), more = evidence;

	(void)unused;
	sp_descriptors_raise(NULL);
	assert_int_equal(sp_kept_look(&evidence, &live), 1);
	assert_int_equal(sp_kept_look(&gone, &dead), 1);
	end(&dead);
	for (int code = 1; code == 1;) {
		more.listener.cookie = ++last_cookie;
		code = sp_kept_look(&more, &live);
		if (code != 1)
			assert_int_equal(code, SP_E_TOO_LARGE);
		assert_true(last_cookie <= SP_KEPT_MAX + 16);
	}
	assert_int_equal(sp_kept_look(&evidence, &live), 1);
	end(&live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_process_that_lives_is_the_same),
	    cmocka_unit_test(whatever_follows_one_that_has_exited_is_another),
	    cmocka_unit_test(a_listener_enrolled_anew_is_looked_at_anew),
	    cmocka_unit_test(a_full_table_forgets_only_those_that_have_exited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
