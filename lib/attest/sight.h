/*
 * What was seen of one process and its socket: everything that the checks go by, apart from how it
 * was seen. A look (attest/look.h) fills in its part on a live machine, an archive
 * (attest/capture.h) fills in all of it for later, and the judges (attest/judge.h) compare it with
 * the evidence.
 */
#ifndef SP_ATTEST_SIGHT_H
#define SP_ATTEST_SIGHT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "attest/attest.h"
#include "attest/executable.h"
#include "attest/proc.h"
#include "attest/sockdiag.h"

/* The code of a part that nobody looked at. */
#define SP_UNSEEN 1

enum sp_file_kind { SP_FILE_OTHER, SP_FILE_SOCKET, SP_FILE_SYMLINK };

/* The code of each part: 0, or -errno of the look, and then the rest of the part means nothing. */
struct sp_sight {
	struct {
		int code;
		enum sp_level level;
	} level;
	struct {
		int code;
		char id[37];
	} boot;
	struct { /* what lies at the path */
		int code;
		uint32_t kind; /* enum sp_file_kind */
		dev_t dev;
		ino_t ino;
		uid_t uid;
		mode_t mode; /* permission bits */
		uint32_t links;
	} file;
	struct {
		int code;
		pid_t pid;      /* in the pid namespace of whoever looked */
		uint64_t pidfs; /* 0 below `full` */
	} process;
	struct {
		int code;
		struct sp_process_stat stat;
	} start;
	struct {
		int code;
		struct sp_namespaces all;
	} namespaces;
	struct {
		int code;
		pid_t pid; /* 0: nobody */
	} tracer;
	struct {
		int code;
		struct sp_executable tuple;
	} executable;
	struct { /* looked at only when it decides */
		int code;
		uint8_t hash[SP_EXECUTABLE_HASH];
	} bytes;
	struct { /* the recorded listener among the process's descriptors */
		int code;
		int number;
		struct sp_socket socket;
	} listener;
	/* of a connection of ours */
	struct {
		int code;
		bool busy; /* its backlog is full */
	} connection;
	struct { /* SO_PEERCRED */
		int code;
		pid_t pid; /* 0: not in the looker's pid namespace */
		uid_t uid;
		gid_t gid;
	} credentials;
	struct { /* SO_PEERPIDFD */
		int code;
		uint64_t pidfs;
	} peer_process;
	struct { /* our end */
		int code;
		uint32_t inode;
		bool ended; /* its peer has closed */
		struct sp_socket socket;
	} own;
	struct { /* the accepted end */
		int code;
		struct sp_socket socket;
	} peer;
	struct { /* the process's descriptor of the accepted end; -1: not known */
		int code;
		int number;
	} held;
	/* of this very moment, never of an archive */
	struct {
		int code;
		bool alive;
	} alive;
	struct {
		int code;
		bool same;
	} image;
};

/* Nothing seen yet. */
void sp_sight_init(struct sp_sight *sight);

/*
 * As a JSON object: a part is an object of its values, {"error":"ENOENT"}, or, of a connection that
 * was not looked at, absent. Level, boot, `start.stat` (the archive has /proc/<pid>/stat itself)
 * and what is of the moment are not in it. A new reference, NULL when out of memory. Pure.
 */
json_t *sp_sight_json(const struct sp_sight *sight);

/* The reverse: closed, with every part that needs no connection. SP_E_BAD_RECORD. *ret is as
 * sp_sight_init left it where the object has nothing. Pure. */
int sp_sight_parse(const json_t *object, struct sp_sight *ret, struct sp_err *err);

#endif
