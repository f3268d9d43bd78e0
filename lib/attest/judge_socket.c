/* Judgements on the path, the connection, and who holds its other end: steps 1, 2, 5 and 6. */
#include "attest/judge.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/sysmacros.h>
#include "base/err.h"

static enum sp_verdict judge_path_code(int code, struct sp_words *words)
{
	sp_words_see(
	    words, "%s", code == -ELOOP ? "a symbolic link on the way" : sp_code_text(code));
	return code == -ELOOP || code == -ENOENT || code == -ENOTDIR ? SP_VERDICT_WRONG
								     : SP_VERDICT_UNKNOWN;
}

enum sp_verdict sp_judge_path(const struct sp_case *judged, struct sp_words *words)
{
	static const char *const kinds[] = {[SP_FILE_OTHER] = "no socket:",
	    [SP_FILE_SOCKET] = "socket",
	    [SP_FILE_SYMLINK] = "symbolic link"};
	const struct sp_listener *target = judged->target;
	const struct sp_sight *sight = &judged->sight;

	sp_words_expect(words, "%s: socket %u:%u inode %" PRIu64 ", uid %u, one link", target->path,
	    major(target->dev), minor(target->dev), (uint64_t)target->ino, (unsigned)target->uid);
	if (sight->file.code)
		return judge_path_code(sight->file.code, words);
	sp_words_see(words, "%s %u:%u inode %" PRIu64 ", uid %u, %u link%s",
	    kinds[sight->file.kind], major(sight->file.dev), minor(sight->file.dev),
	    (uint64_t)sight->file.ino, (unsigned)sight->file.uid, sight->file.links,
	    sight->file.links == 1 ? "" : "s");
	return sight->file.kind == SP_FILE_SOCKET && sight->file.dev == target->dev &&
		       sight->file.ino == target->ino && sight->file.uid == target->uid &&
		       sight->file.links == 1
		   ? SP_VERDICT_RIGHT
		   : SP_VERDICT_WRONG;
}

enum sp_verdict sp_judge_connect(const struct sp_case *judged, struct sp_words *words)
{
	int code = judged->sight.connection.code;

	sp_words_expect(words, "a listener behind it");
	if (judged->sight.connection.busy) {
		sp_words_see(words, "a full backlog: try again");
		return SP_VERDICT_RIGHT;
	}
	if (code == -ECONNREFUSED || code == -EPROTOTYPE) {
		sp_words_see(words, "nobody listens there");
		return SP_VERDICT_WRONG;
	}
	sp_words_see(words, "%s", code ? sp_code_text(code) : "connected");
	return code ? SP_VERDICT_UNKNOWN : SP_VERDICT_RIGHT;
}

enum sp_verdict sp_judge_credentials(const struct sp_case *judged, struct sp_words *words)
{
	const struct sp_evidence *evidence = &judged->evidence;
	const struct sp_sight *sight = &judged->sight;

	sp_words_expect(words, "pid %d, uid %u, gid %u", (int)evidence->pid,
	    (unsigned)evidence->uid, (unsigned)evidence->gid);
	if (sight->credentials.code)
		return sp_judge_code(sight->credentials.code, words);
	sp_words_see(words, "pid %d, uid %u, gid %u", (int)sight->credentials.pid,
	    (unsigned)sight->credentials.uid, (unsigned)sight->credentials.gid);
	if (sight->credentials.pid == 0) {
		sp_words_see(words, "a process that our pid namespace does not show");
		return SP_VERDICT_UNKNOWN;
	}
	return sight->credentials.pid == evidence->pid && sight->credentials.uid == evidence->uid &&
		       sight->credentials.gid == evidence->gid
		   ? SP_VERDICT_RIGHT
		   : SP_VERDICT_WRONG;
}

enum sp_verdict sp_judge_peer_process(const struct sp_case *judged, struct sp_words *words)
{
	enum sp_level level = judged->sight.level.level;
	uint64_t recorded = judged->evidence.pidfs, seen = judged->sight.peer_process.pidfs;

	if (level < SP_LEVEL_PIDFD) {
		sp_words_expect(words, "SO_PEERPIDFD (Linux 6.5)");
		sp_words_see(words, "not at level %s", sp_level_name(level));
		return SP_VERDICT_RIGHT;
	}
	sp_words_expect(words, "pidfs inode %" PRIu64, recorded);
	if (judged->sight.peer_process.code)
		return sp_judge_code(judged->sight.peer_process.code, words);
	if (level < SP_LEVEL_FULL || recorded == 0) {
		sp_words_see(words, "given");
		return SP_VERDICT_RIGHT;
	}
	sp_words_see(words, "pidfs inode %" PRIu64, seen);
	return seen == recorded ? SP_VERDICT_RIGHT : SP_VERDICT_WRONG;
}

static void say_socket(struct sp_words *words, const struct sp_socket *found)
{
	sp_words_see(words, "socket %u, %s, peer %u, file %#x inode %u, uid %u", found->inode,
	    found->state == SP_SOCKET_ESTABLISHED ? "established" : "not established", found->peer,
	    found->file_device, found->file_inode, (unsigned)found->uid);
}

enum sp_verdict sp_judge_peer_socket(const struct sp_case *judged, struct sp_words *words)
{
	const struct sp_evidence *evidence = &judged->evidence;
	const struct sp_listener *target = judged->target;
	const struct sp_sight *sight = &judged->sight;
	const struct sp_socket *peer = &sight->peer.socket;

	sp_words_expect(words, "established, peer %u, file %#x inode %u, uid %u", sight->own.inode,
	    target->file_device, target->file_inode, (unsigned)evidence->uid);
	if (sight->own.code)
		return sp_judge_code(sight->own.code, words);
	if (sight->own.ended) {
		sp_words_see(words, "the connection has ended");
		return SP_VERDICT_UNKNOWN;
	}
	if (sight->own.socket.peer == 0 || sight->own.socket.state != SP_SOCKET_ESTABLISHED) {
		sp_words_see(words, "nobody has accepted the connection");
		return SP_VERDICT_WRONG;
	}
	if (sight->peer.code)
		return sp_judge_code(sight->peer.code, words);
	say_socket(words, peer);
	return peer->state == SP_SOCKET_ESTABLISHED && peer->stream &&
		       peer->peer == sight->own.inode && peer->has_file &&
		       peer->file_device == target->file_device &&
		       peer->file_inode == target->file_inode && peer->has_uid &&
		       peer->uid == evidence->uid
		   ? SP_VERDICT_RIGHT
		   : SP_VERDICT_WRONG;
}

enum sp_verdict sp_judge_peer_held(const struct sp_case *judged, struct sp_words *words)
{
	const struct sp_sight *sight = &judged->sight;

	sp_words_expect(
	    words, "pid %d holds socket %u", (int)sight->process.pid, sight->peer.socket.inode);
	if (sight->held.code == -ENOENT && sight->own.ended) {
		sp_words_see(words, "the connection has ended");
		return SP_VERDICT_UNKNOWN;
	}
	if (sight->held.code == -ENOENT) {
		sp_words_see(words, "another process accepted the connection");
		return SP_VERDICT_WRONG;
	}
	if (sight->held.code)
		return sp_judge_code(sight->held.code, words);
	sp_words_see(words, "its descriptor %d", sight->held.number);
	return SP_VERDICT_RIGHT;
}

enum sp_verdict sp_judge_listener(const struct sp_case *judged, struct sp_words *words)
{
	const struct sp_listener *target = judged->target;
	const struct sp_socket *found = &judged->sight.listener.socket;
	int code = judged->sight.listener.code;

	sp_words_expect(words, "its descriptor, socket %u, cookie %" PRIu64 ", listening",
	    target->socket, target->cookie);
	if (code == -ENOENT) {
		sp_words_see(words, "not among its descriptors");
		return SP_VERDICT_WRONG;
	}
	if (code)
		return sp_judge_code(code, words);
	sp_words_see(words, "descriptor %d, socket %u, cookie %" PRIu64 ", %s",
	    judged->sight.listener.number, found->inode, found->cookie,
	    found->state == SP_SOCKET_LISTENING ? "listening" : "not listening");
	return found->inode == target->socket && found->cookie == target->cookie &&
		       found->state == SP_SOCKET_LISTENING
		   ? SP_VERDICT_RIGHT
		   : SP_VERDICT_WRONG;
}
