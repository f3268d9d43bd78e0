/* Judgements on the process itself: step 3 and step 8. */
#include "attest/judge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include "base/err.h"

enum sp_verdict sp_judge_code(int code, struct sp_words *words)
{
	switch (code) {
	case -ESRCH:
		sp_words_see(words, "it has exited");
		return SP_VERDICT_WRONG;
	case -ENOENT:
		sp_words_see(words, "no such");
		return SP_VERDICT_WRONG;
	case -EACCES:
	case -EPERM:
		sp_words_see(words,
		    "no right to look: run as its uid, or with CAP_SYS_PTRACE (and CAP_SYS_ADMIN "
		    "when namespaces differ)");
		return SP_VERDICT_UNKNOWN;
	case -ENODATA:
		sp_words_see(words, "its thread leader has ended: nothing can be read");
		return SP_VERDICT_UNKNOWN;
	case -E2BIG:
		sp_words_see(words, "more threads or descriptors than are looked at");
		return SP_VERDICT_UNKNOWN;
	default:
		sp_words_see(words, "%s", sp_code_text(code));
		return SP_VERDICT_UNKNOWN;
	}
}

enum sp_verdict sp_judge_level(const struct sp_case *judged, struct sp_words *words)
{
	enum sp_level level = judged->sight.level.level;

	sp_words_expect(words, "%s or better", sp_level_name(judged->min_level));
	sp_words_see(words, "%s", sp_level_name(level));
	if (judged->min_level == SP_LEVEL_NONE || level < judged->min_level)
		return SP_VERDICT_UNKNOWN;
	if (judged->min_level == SP_LEVEL_FULL && judged->evidence.pidfs == 0) {
		sp_words_see(words, "evidence enrolled below full: it has no pidfs inode");
		return SP_VERDICT_UNKNOWN;
	}
	return SP_VERDICT_RIGHT;
}

enum sp_verdict sp_judge_boot(const struct sp_case *judged, struct sp_words *words)
{
	const char *now = judged->sight.boot.code ? NULL : judged->sight.boot.id;

	sp_words_expect(words, "%s", judged->evidence.boot_id);
	sp_words_see(words, "%s", now ? now : "unreadable");
	if (!now)
		return SP_VERDICT_UNKNOWN;
	return strcmp(now, judged->evidence.boot_id) == 0 ? SP_VERDICT_RIGHT : SP_VERDICT_WRONG;
}

enum sp_verdict sp_judge_process(const struct sp_case *judged, struct sp_words *words)
{
	const struct sp_evidence *evidence = &judged->evidence;
	const struct sp_sight *sight = &judged->sight;

	if (evidence->pidfs)
		sp_words_expect(words, "pid %d, pidfs inode %" PRIu64 ", alive", (int)evidence->pid,
		    evidence->pidfs);
	else
		sp_words_expect(words, "pid %d, alive", (int)evidence->pid);
	if (sight->process.code)
		return sp_judge_code(sight->process.code, words);
	sp_words_see(words, "pid %d, pidfs inode %" PRIu64 ", alive", (int)sight->process.pid,
	    sight->process.pidfs);
	if (sight->process.pid != evidence->pid ||
	    (evidence->pidfs && sight->process.pidfs && sight->process.pidfs != evidence->pidfs))
		return SP_VERDICT_WRONG;
	return SP_VERDICT_RIGHT;
}

enum sp_verdict sp_judge_start(const struct sp_case *judged, struct sp_words *words)
{
	const struct sp_evidence *evidence = &judged->evidence;
	const struct sp_process_stat *stat = &judged->sight.start.stat;

	sp_words_expect(words, "tick %" PRIu64 ", stack %#" PRIx64, evidence->start_time,
	    evidence->start_stack);
	if (judged->sight.start.code)
		return sp_judge_code(judged->sight.start.code, words);
	sp_words_see(
	    words, "tick %" PRIu64 ", stack %#" PRIx64, stat->start_time, stat->start_stack);
	if (stat->start_time != evidence->start_time)
		return SP_VERDICT_WRONG;
	/* 0 is shown to those who may not look. */
	if (stat->start_stack == 0)
		return SP_VERDICT_UNKNOWN;
	return stat->start_stack == evidence->start_stack ? SP_VERDICT_RIGHT : SP_VERDICT_WRONG;
}

enum sp_verdict sp_judge_namespaces(const struct sp_case *judged, struct sp_words *words)
{
	const struct sp_namespaces *recorded = &judged->evidence.namespaces;
	const struct sp_namespaces *found = &judged->sight.namespaces.all;

	sp_words_expect(words, "net %" PRIu64 ", mnt %" PRIu64 ", pid %" PRIu64 ", user %" PRIu64,
	    recorded->net, recorded->mnt, recorded->pid, recorded->user);
	if (judged->sight.namespaces.code)
		return sp_judge_code(judged->sight.namespaces.code, words);
	sp_words_see(words, "net %" PRIu64 ", mnt %" PRIu64 ", pid %" PRIu64 ", user %" PRIu64,
	    found->net, found->mnt, found->pid, found->user);
	return found->net == recorded->net && found->mnt == recorded->mnt &&
		       found->pid == recorded->pid && found->user == recorded->user
		   ? SP_VERDICT_RIGHT
		   : SP_VERDICT_WRONG;
}

enum sp_verdict sp_judge_tracer(const struct sp_case *judged, struct sp_words *words)
{
	sp_words_expect(words, "nobody traces it");
	if (judged->sight.tracer.code)
		return sp_judge_code(judged->sight.tracer.code, words);
	if (judged->sight.tracer.pid == 0) {
		sp_words_see(words, "nobody traces it");
		return SP_VERDICT_RIGHT;
	}
	sp_words_see(words, "pid %d traces it", (int)judged->sight.tracer.pid);
	return SP_VERDICT_WRONG;
}

static void say_executable(char text[SP_WORDS_MAX], const struct sp_executable *file)
{
	(void)snprintf(text, SP_WORDS_MAX, "%u:%u inode %" PRIu64 ", %" PRIu64 " bytes",
	    major(file->dev), minor(file->dev), (uint64_t)file->ino, file->size);
}

bool sp_judge_needs_bytes(const struct sp_executable *recorded, const struct sp_executable *seen)
{
	return !sp_executable_equal(recorded, seen) && seen->dev == recorded->dev &&
	       seen->ino == recorded->ino && seen->size == recorded->size;
}

/* Only times moved: somebody touched, linked or removed the file. Its bytes decide. */
static enum sp_verdict judge_bytes(const struct sp_case *judged, struct sp_words *words)
{
	if (judged->sight.bytes.code)
		return sp_judge_code(judged->sight.bytes.code, words);
	if (memcmp(judged->sight.bytes.hash, judged->evidence.hash,
		sizeof(judged->evidence.hash)) == 0)
		return SP_VERDICT_RIGHT;
	sp_words_see(words, "the same file with other bytes");
	return SP_VERDICT_WRONG;
}

enum sp_verdict sp_judge_executable(const struct sp_case *judged, struct sp_words *words)
{
	const struct sp_executable *recorded = &judged->evidence.executable;
	const struct sp_executable *found = &judged->sight.executable.tuple;

	if (words)
		say_executable(words->expected, recorded);
	if (judged->sight.executable.code)
		return sp_judge_code(judged->sight.executable.code, words);
	if (words)
		say_executable(words->seen, found);
	if (sp_judge_needs_bytes(recorded, found))
		return judge_bytes(judged, words);
	return sp_executable_equal(recorded, found) ? SP_VERDICT_RIGHT : SP_VERDICT_WRONG;
}

enum sp_verdict sp_judge_alive(const struct sp_case *judged, struct sp_words *words)
{
	bool alive = judged->sight.alive.alive;

	sp_words_expect(words, "alive");
	sp_words_see(words, alive ? "alive" : "it has exited");
	return alive ? SP_VERDICT_RIGHT : SP_VERDICT_WRONG;
}

enum sp_verdict sp_judge_image(const struct sp_case *judged, struct sp_words *words)
{
	bool same = judged->sight.image.same;

	sp_words_expect(words, "the program it was pinned with");
	if (judged->sight.image.code)
		return sp_judge_code(judged->sight.image.code, words);
	sp_words_see(
	    words, same ? "the program it was pinned with" : "it has called exec, or exited");
	return same ? SP_VERDICT_RIGHT : SP_VERDICT_WRONG;
}
