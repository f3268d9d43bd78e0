/* spacestream: the table of its verbs. */
#include "client/setup.h"
#include "spacestream/verbs.h"

static const struct sp_option ATTACH[] = {
    {"terminal", 't', SP_OPTION_FLAG, NULL, "open a terminal, with CMD or the guest's shell", NULL,
	false},
    {"exec", 'e', SP_OPTION_FLAG, NULL, "start CMD without a terminal", NULL, false},
    {"cwd", 0, SP_OPTION_TEXT, "DIR", "... in this directory of the guest", NULL, false},
    {"detach-key", 0, SP_OPTION_TEXT, "KEY",
	"what leaves a terminal: ctrl- and a character, or none (default: ctrl-])", NULL, false},
    {"reattach-timeout", 0, SP_OPTION_NUMBER, "SECONDS",
	"longest wait for a newer route after a cut (default: [streams] reattach_timeout)", NULL,
	false},
    SP_CLIENT_FLAGS,
    {0},
};

#define LEASE_OPTIONS                                                                              \
	{"sandbox", 's', SP_OPTION_SANDBOX, "S", "whose lease", NULL, true},                       \
	    {"kind", 0, SP_OPTION_CHOICE, "KIND",                                                  \
		"what it survives: a gateway lease also another attempt (default: control)",       \
		"control|gateway", false},                                                         \
	    {"expect", 0, SP_OPTION_TEXT, "ROUTE",                                                 \
		"the route that must be installed, as JSON (default: whatever is)", NULL, false},  \
	{                                                                                          \
		"records", 0, SP_OPTION_DIRECTORY, "DIR",                                          \
		    "runtime records (default: records under [space] state_dir)", NULL, false      \
	}

static const struct sp_option LEASE[] = {LEASE_OPTIONS, {0}};

static const struct sp_option LIST[] = {
    {"sandbox", 's', SP_OPTION_SANDBOX, "S", "only its leases", NULL, false},
    {0},
};

static const struct sp_option CANCEL[] = {
    {"sandbox", 's', SP_OPTION_SANDBOX, "S", "all of its leases", NULL, false},
    {0},
};

static const struct sp_option SERVE[] = {
    {"listen", 'l', SP_OPTION_TEXT, "ADDR",
	"unix:PATH, or tcp:HOST:PORT (default: http.sock in [space] run_dir)", NULL, false},
    {"tls-cert", 0, SP_OPTION_FILE, "FILE", "speak TLS with this certificate chain, PEM", NULL,
	false},
    {"tls-key", 0, SP_OPTION_FILE, "FILE", "its key, PEM", NULL, false},
    {"inflight", 0, SP_OPTION_NUMBER, "N", "operations of one caller at once (default: 64)", NULL,
	false},
    {"streams", 0, SP_OPTION_NUMBER, "N", "streams of one caller at once (default: 64)", NULL,
	false},
    {"reattach-timeout", 0, SP_OPTION_NUMBER, "SECONDS",
	"longest wait for a newer route after a cut (default: [streams] reattach_timeout)", NULL,
	false},
    {"origin", 0, SP_OPTION_TEXT, "ORIGIN[,...]", "whose pages may open streams, besides our own",
	NULL, false},
    {"timeout", 0, SP_OPTION_NUMBER, "SECONDS",
	"longest wait for the rest of a head, a record or a line (default: 30)", NULL, false},
    {"idle-timeout", 0, SP_OPTION_NUMBER, "SECONDS",
	"longest wait for a request, or for a client to take its answer (default: 60)", NULL,
	false},
    {"xterm", 0, SP_OPTION_DIRECTORY, "DIR",
	"xterm.js for the page (default: /usr/share/space-tools/xterm, if it is there)", NULL,
	false},
    SP_PATH_FLAGS,
    {0},
};

static const struct sp_verb VERBS[] = {
    {"attach", "SANDBOX [SESSION | -- CMD ...]", 1, 1024,
	"attach to a session of a sandbox, or to a new one", ATTACH,
	"spacestream attach s-42 --terminal\n"
	"spacestream attach s-42 --exec -- tar -c /srv/app >app.tar\n"
	"spacestream attach s-42 5d0c1f0a9b3e4d7c8a6f1e2d3c4b5a69",
	spacestream_attach},
    {"lease", "-- CMD ...", 1, 1024,
	"run a command, relayed under a lease: it ends when the execution is replaced", LEASE,
	"spacestream lease --sandbox s-42 -- socat - UNIX-CONNECT:/run/vm/v.sock\n"
	"spacestream lease --sandbox s-42 --expect \"$(spaceid show s-42 | jq .route)\" -- sh",
	spacestream_lease},
    {"relay", "A B", 2, 2, "carry bytes between two addresses under a lease", LEASE,
	"spacestream relay --sandbox s-42 - unix:/run/app.sock\n"
	"spacestream relay --sandbox s-42 --kind gateway fd:3 tcp:127.0.0.1:8080",
	spacestream_relay},
    {"list", NULL, 0, 0, "print the live leases of this node", LIST,
	"spacestream list\nspacestream list --sandbox s-42 -o json | jq .lease", spacestream_list},
    {"cancel", "[LEASE]", 0, 1, "end one lease, or all of a sandbox", CANCEL,
	"spacestream cancel 5d0c1f\nspacestream cancel --sandbox s-42", spacestream_cancel},
    {"serve", NULL, 0, 0, "answer requests to sandboxes over HTTP", SERVE,
	"spacestream serve --listen unix:/run/space-http.sock --agent /run/space/signer.sock\n"
	"spacestream serve --listen tcp:[::]:8443 --tls-cert cert.pem --tls-key key.pem",
	spacestream_serve},
    {0},
};

static const struct sp_tool TOOL = {
    "spacestream", "leases, attachments, and the entry over HTTP", VERBS};

int main(int argc, char **argv)
{
	return sp_cli_main(&TOOL, argc, argv);
}
