/* spaceid compare: the comparison as a filter, or of two files. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "base/util.h"
#include "record/filter.h"
#include "record/json.h"
#include "record/lines.h"
#include "record/result.h"
#include "spaceid/verbs.h"
#include "spaceid/compare.h"

/* For the filter, each thread has one to itself. */
struct compare {
	struct sp_cli *cli;
	struct sp_store *store; /* NULL: lines bring `installed` */
	int exit;
};

static int compare_one(void *context, json_t *record, json_t **ret, struct sp_err *err)
{
	struct compare *compare = context;
	struct comparison c;
	int bad = spaceid_judge(record, compare->store, &c, err);

	if (bad == SP_E_UNAVAILABLE) {
		*ret = sp_result_error(json_string_value(json_object_get(record, "id")),
		    SP_ERROR_UNAVAILABLE, false, err->message);
		return 0;
	}
	if (!bad)
		bad = spaceid_add_result(record, &c.result);
	if (bad)
		return bad;
	compare->exit = sp_exit_worse(compare->exit, sp_reason_exit(c.result.reason));
	*ret = json_incref(record);
	return 0;
}

static bool compare_quickly(
    void *context, const char *line, size_t size, struct sp_out *out, int *ret_exit)
{
	const struct compare *compare = context;
	struct comparison c;

	if (!spaceid_judge_quick(line, size, compare->store, &c))
		return false;
	sp_out_put(out, line, size - 1);
	spaceid_put_result(&c.result, out);
	sp_out_put(out, "}", 1);
	*ret_exit = sp_reason_exit(c.result.reason);
	return true;
}

/* The filter for people: a table for each line. */
static int compare_line(struct compare *compare, const char *line, size_t size, size_t number)
{
	sp_auto_json json_t *record = NULL;
	struct comparison c;
	struct sp_err err = {0};
	int bad = sp_json_parse(line, size, &record, &err);

	if (!bad)
		bad = spaceid_judge(record, compare->store, &c, &err);
	if (bad) {
		(void)sp_err_prefix(&err, bad, "line %zu", number);
		return sp_cli_fail(compare->cli, &err);
	}
	if (spaceid_print_comparison(compare->cli, &c) < 0)
		return SP_EXIT_FAILED;
	return sp_reason_exit(c.result.reason);
}

static int compare_for_people(struct compare *compare)
{
	struct sp_line_reader reader = {0};
	struct sp_err err = {0};
	char *line;
	size_t size;
	int got = sp_line_reader_init(&reader, STDIN_FILENO, SP_LINE_MAX);

	while (got >= 0 && (got = sp_line_next(&reader, &line, &size)) != 0) {
		if (got < 0 && got != SP_E_TOO_LARGE)
			break;
		if (reader.number > 1)
			(void)putchar('\n');
		if (got > 0) {
			compare->exit = sp_exit_worse(
			    compare->exit, compare_line(compare, line, size, reader.number));
		} else {
			(void)sp_fail(&err, got, "line %zu: longer than 256 KiB", reader.number);
			compare->exit =
			    sp_exit_worse(compare->exit, sp_cli_fail(compare->cli, &err));
			got = 0;
		}
	}
	sp_line_reader_done(&reader);
	if (got < 0) {
		(void)sp_fail(&err, got, "standard input: %s", sp_code_text(got));
		return sp_cli_fail(compare->cli, &err);
	}
	return compare->exit;
}

/* A store for each thread but the first, which has that of `compare`. */
static int prepare(struct compare *compare, struct compare *jobs, unsigned count)
{
	bool stored = compare->store != NULL;
	int bad = 0;

	for (unsigned i = 0; i < count; i++)
		jobs[i] = (struct compare){.cli = compare->cli};
	jobs[0].store = sp_steal(&compare->store);
	for (unsigned i = 1; i < count && stored && !bad; i++)
		bad = spaceid_store(compare->cli, 0, &jobs[i].store);
	return bad;
}

static int run_filter(struct compare *compare)
{
	struct compare jobs[SP_JOBS_MAX];
	void *contexts[SP_JOBS_MAX];
	struct sp_filter filter = {
	    .quick = compare_quickly, .answer = compare_one, .contexts = contexts};
	struct sp_err err = {0};
	int exit, written = SP_EXIT_DONE;

	if (sp_cli_jobs(compare->cli, &filter.jobs) < 0)
		return SP_EXIT_USAGE;
	for (unsigned i = 0; i < filter.jobs; i++)
		contexts[i] = &jobs[i];
	exit = prepare(compare, jobs, filter.jobs);
	if (!exit && sp_filter_run_jobs(STDIN_FILENO, STDOUT_FILENO, &filter, &written, &err) < 0)
		exit = sp_cli_fail(compare->cli, &err);
	for (unsigned i = 0; i < filter.jobs; i++) {
		written = sp_exit_worse(written, jobs[i].exit);
		if (jobs[i].store)
			sp_store_close(jobs[i].store);
	}
	return exit ? exit : written;
}

static int set_side(json_t *line, const char *side, const char *path, struct sp_err *err)
{
	json_t *value = NULL;
	int bad = sp_json_read_file(AT_FDCWD, path, SP_RECORD_FILE_MAX, &value, err);

	if (!bad && json_object_set_new(line, side, value) < 0)
		bad = sp_fail(err, -ENOMEM, "out of memory");
	return bad;
}

/* --selected FILE with --installed FILE or --records DIR: the one line that they make. */
static int compare_files(struct compare *compare)
{
	const char *installed = sp_cli_text(compare->cli, "installed");
	const char *use = sp_cli_text(compare->cli, "use");
	sp_auto_json json_t *line = json_object();
	struct comparison c;
	struct sp_err err = {0};
	int bad = set_side(line, "selected", sp_cli_text(compare->cli, "selected"), &err);

	if (!bad && installed)
		bad = set_side(line, "installed", installed, &err);
	if (!bad && use && json_object_set_new(line, "use", json_string(use)) < 0)
		bad = sp_fail(&err, -ENOMEM, "out of memory");
	if (!bad)
		bad = spaceid_judge(line, compare->store, &c, &err);
	if (bad)
		return sp_cli_fail(compare->cli, &err);
	if (!sp_cli_json(compare->cli))
		bad = spaceid_print_comparison(compare->cli, &c) < 0;
	else
		bad = spaceid_add_result(line, &c.result) < 0 ||
		      sp_cli_put_json(compare->cli, json_incref(line)) != 0;
	return bad ? SP_EXIT_FAILED : sp_reason_exit(c.result.reason);
}

static int check_usage(struct sp_cli *cli, const char *selected, const char *records)
{
	if (!selected && (sp_cli_text(cli, "installed") || sp_cli_text(cli, "use")))
		return sp_cli_usage(cli, "--installed and --use belong to --selected FILE");
	if (selected && (sp_cli_text(cli, "installed") != NULL) == (records != NULL))
		return sp_cli_usage(cli, "--selected FILE needs --installed FILE or --records DIR");
	if (selected && sp_cli_text(cli, "jobs"))
		return sp_cli_usage(cli, "--jobs is for the filter: not with --selected FILE");
	return sp_cli_text(cli, "config") && !sp_cli_config(cli) ? SP_EXIT_USAGE : 0;
}

int spaceid_compare(struct sp_cli *cli)
{
	const char *selected = sp_cli_text(cli, "selected"), *records = sp_cli_text(cli, "records");
	struct compare compare = {.cli = cli};
	int exit = check_usage(cli, selected, records);

	if (!exit && records)
		exit = spaceid_store(cli, 0, &compare.store);
	if (exit)
		return exit;
	if (selected)
		exit = compare_files(&compare);
	else
		exit = sp_cli_json(cli) ? run_filter(&compare) : compare_for_people(&compare);
	if (compare.store)
		sp_store_close(compare.store);
	return exit;
}
