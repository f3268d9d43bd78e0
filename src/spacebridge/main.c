/* spacebridge: the table of its verbs. */
#include "client/setup.h"
#include "spacebridge/verbs.h"

static const struct sp_option ATTEST_OPTIONS[] = {
    {"sandbox", 's', SP_OPTION_SANDBOX, "S", "judge what is recorded of it; with --enroll: its id",
	NULL, false},
    {"connect", 0, SP_OPTION_FLAG, NULL, "connect to bridge and VMM too, as a request would", NULL,
	false},
    {"records", 0, SP_OPTION_DIRECTORY, "DIR",
	"runtime records (default: records under [space] state_dir)", NULL, false},
    {"pid", 'p', SP_OPTION_NUMBER, "P", "show evidence of a process, without a record", NULL,
	false},
    {"all", 0, SP_OPTION_FLAG, NULL, "judge every active record, a line each", NULL, false},
    {"level", 0, SP_OPTION_FLAG, NULL, "say what this kernel can prove, and whether that is enough",
	NULL, false},
    {"enroll", 0, SP_OPTION_FLAG, NULL, "take evidence of a bridge, a VMM or both", NULL, false},
    {"bridge-pid", 0, SP_OPTION_NUMBER, "P", "the bridge's process", NULL, false},
    {"bridge", 0, SP_OPTION_FILE, "SOCK",
	"where it listens (default: bridge/S.sock under [space] run_dir)", NULL, false},
    {"vmm-pid", 0, SP_OPTION_NUMBER, "P", "the VMM's process", NULL, false},
    {"vsock", 0, SP_OPTION_FILE, "SOCK", "where the VMM, or the process of --pid, listens", NULL,
	false},
    {"cid", 0, SP_OPTION_NUMBER, "N", "the guest's CID (default: what the VMM's API says)", NULL,
	false},
    {"api", 0, SP_OPTION_FILE, "SOCK", "the VMM's API socket", NULL, false},
    {"record", 0, SP_OPTION_FILE, "FILE",
	"a record to add the evidence to, - for standard input; its guest is given a key", NULL,
	false},
    {"evidence", 0, SP_OPTION_FILE, "FILE",
	"with --sandbox or --pid: take everything away for later, into a new tar", NULL, false},
    {"check", 0, SP_OPTION_FILE, "FILE", "judge such a tar, on whatever machine", NULL, false},
    {"guest-key", 0, SP_OPTION_FILE, "FILE",
	"the key that the guest has: its predecessor's, which came with the snapshot", NULL, false},
    {0},
};

static const struct sp_option CONNECT_OPTIONS[] = {
    {"sandbox", 's', SP_OPTION_SANDBOX, "S", "where to", NULL, true},
    {"port", 'p', SP_OPTION_NUMBER, "N", "connect to this port of its guest", NULL, false},
    {"protocol", 0, SP_OPTION_CHOICE, "P", "what is spoken there (default: tcp)",
	"tcp|http|websocket|tls", false},
    {"recursive", 'r', SP_OPTION_FLAG, NULL, "file.watch: directories below, too", NULL, false},
    {"reattach-timeout", 0, SP_OPTION_NUMBER, "SECONDS",
	"longest wait for a newer route after a cut (default: [streams] reattach_timeout)", NULL,
	false},
    SP_CLIENT_FLAGS,
    {0},
};

static const struct sp_option FORWARD_OPTIONS[] = {
    {"listen", 'l', SP_OPTION_FILE, "SOCK", "where clients connect (default: [manager] socket)",
	NULL, false},
    {"records", 0, SP_OPTION_DIRECTORY, "DIR",
	"runtime records (default: records under [space] state_dir)", NULL, false},
    {"keys", 0, SP_OPTION_FILE, "KEYS",
	"bundle directory, public key file or k4.public key (default: [keys] bundle)", NULL, false},
    {"realm", 0, SP_OPTION_TEXT, "REALM", "of the capabilities (default: [space] realm)", NULL,
	false},
    {"audit", 0, SP_OPTION_FILE, "FILE", "audit lines (default: [audit] file, else stderr)", NULL,
	false},
    {0},
};

static const struct sp_option GATEWAY_OPTIONS[] = {
    {"sandbox", 's', SP_OPTION_SANDBOX, "SANDBOX", "whose gateway this is, if not the argument",
	NULL, false},
    {"listen", 'l', SP_OPTION_TEXT, "ADDRESS",
	"unix:PATH or, on loopback, tcp:HOST:PORT (default: [gateway] listen)", NULL, false},
    {"http", 0, SP_OPTION_FLAG, NULL,
	"serve HTTP/1: each request is admitted by itself (default: [gateway] http)", NULL, false},
    {"records", 0, SP_OPTION_DIRECTORY, "DIR",
	"runtime records (default: records under [space] state_dir)", NULL, false},
    {"keys", 0, SP_OPTION_FILE, "KEYS",
	"bundle directory, public key file or k4.public key (default: [keys] bundle)", NULL, false},
    {"realm", 0, SP_OPTION_TEXT, "REALM", "of the capabilities (default: [space] realm)", NULL,
	false},
    {"audit", 0, SP_OPTION_FILE, "FILE", "audit lines (default: [audit] file, else stderr)", NULL,
	false},
    {0},
};

static const struct sp_option GUEST_OPTIONS[] = {
    {"listen", 'l', SP_OPTION_TEXT, "ADDRESS",
	"vsock:PORT or unix:PATH (default: vsock at [guest] port)", NULL, false},
    {"root", 'r', SP_OPTION_DIRECTORY, "DIR", "what paths are resolved in (default: [guest] root)",
	NULL, false},
    {"cid", 0, SP_OPTION_NUMBER, "N",
	"our CID, where a stand-in plays the VMM (default: the kernel's)", NULL, false},
    {"key", 'k', SP_OPTION_FILE, "FILE",
	"where our key outlives us until the next boot (default: /run/spaced-guest.key on vsock)",
	NULL, false},
    {"audit", 0, SP_OPTION_FILE, "FILE", "audit lines (default: [audit] file, else stderr)", NULL,
	false},
    {0},
};

static const struct sp_option HOST_OPTIONS[] = {
    {"sandbox", 's', SP_OPTION_SANDBOX, "SANDBOX", "whose bridge this is, if not the argument",
	NULL, false},
    {"listen", 'l', SP_OPTION_FILE, "SOCK",
	"where the manager connects (default: bridge/SANDBOX.sock under [space] run_dir)", NULL,
	false},
    {"records", 0, SP_OPTION_DIRECTORY, "DIR",
	"runtime records (default: records under [space] state_dir)", NULL, false},
    {"audit", 0, SP_OPTION_FILE, "FILE", "audit lines (default: [audit] file, else stderr)", NULL,
	false},
    {0},
};

static const struct sp_option SEND_OPTIONS[] = {
    {"window", 'w', SP_OPTION_NUMBER, "N", "requests in flight at once (default: 1)", NULL, false},
    {"keep-request", 0, SP_OPTION_FLAG, NULL,
	"give out the request with answers that repair may mend", NULL, false},
    {"timeout-ms", 0, SP_OPTION_NUMBER, "MS",
	"longest wait for one answer (default: [manager] timeout_ms and a second)", NULL, false},
    {0},
};

static const struct sp_verb VERBS[] = {
    {"attest", NULL, 0, 0, "judge a bridge and a VMM by kernel evidence, or take that evidence",
	ATTEST_OPTIONS,
	"spacebridge attest --sandbox s-42 --connect\n"
	"spacebridge attest --all\n"
	"spacebridge attest --level\n"
	"spacebridge attest --pid 4711 --vsock /run/vm/v.sock\n"
	"spacebridge attest --sandbox s-42 --connect --evidence s-42.tar\n"
	"spacebridge attest --check s-42.tar\n"
	"spacebridge attest --enroll --sandbox s-42 --bridge-pid 4712 --vmm-pid 4711 "
	"--vsock /run/vm/v.sock --api /run/vm/api.sock --record - <record.json | spaceid install",
	verb_attest},
    {"connect", "[OP ARG]", 0, 2,
	"carry one stream of a sandbox on standard input and output: a port, a tree, a watch",
	CONNECT_OPTIONS,
	"ssh -o ProxyCommand='spacebridge connect --sandbox %h --port %p' root@s-42\n"
	"spacebridge connect --sandbox s-42 tree.get /srv/app >app.tar\n"
	"spacebridge connect --sandbox s-42 file.watch /srv/app --recursive",
	verb_connect},
    {"forward", NULL, 0, 0, "serve as sbx-manager: check each request, pass it to its execution",
	FORWARD_OPTIONS,
	"spacebridge forward --listen /run/space/manager.sock\n"
	"spacebridge forward --keys k4.public.... --realm demo --audit /var/log/space/audit.log",
	verb_forward},
    {"gateway", "[SANDBOX]", 0, 1,
	"serve as netgtw: check each use of a service port, pass it to its guest", GATEWAY_OPTIONS,
	"spacebridge gateway s-42\n"
	"spacebridge gateway --sandbox s-42 --listen tcp:127.0.0.1:8443",
	verb_gateway},
    {"guest", NULL, 0, 0, "serve as spaced-guest: files and commands of the guest", GUEST_OPTIONS,
	"spacebridge guest\n"
	"spacebridge guest --listen unix:/tmp/guest.sock --root /srv/tree",
	verb_guest},
    {"host", "[SANDBOX]", 0, 1,
	"serve as spaced-host: prove the VMM, then carry the manager's bytes to it", HOST_OPTIONS,
	"spacebridge host s-42\n"
	"spacebridge host --sandbox s-42 --audit /var/log/space/audit.log",
	verb_host},
    {"send", NULL, 0, 0, "filter: minted requests in, answers of their managers out", SEND_OPTIONS,
	"spacerouted route | spacecap mint -k KEY | spacebridge send\n"
	"... | spacebridge send --window 32 --keep-request | spacerouted repair",
	verb_send},
    {"sockets", "PATH ...", 1, 1024,
	"say who listens at Unix sockets, or at those of directories, without connecting", NULL,
	"spacebridge sockets /run/space/manager.sock\n"
	"spacebridge sockets /run/space /run/space/bridge -o json | jq 'select(.state == "
	"\"stale\")'",
	verb_sockets},
    {0},
};

static const struct sp_tool TOOL = {"spacebridge", "attestation and forwarding", VERBS};

int main(int argc, char **argv)
{
	return sp_cli_main(&TOOL, argc, argv);
}
