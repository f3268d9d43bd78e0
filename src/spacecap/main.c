/* spacecap: the table of its verbs. */
#include "client/trail.h"
#include "spacecap/verbs.h"

#define END                                                                                        \
	{                                                                                          \
		0                                                                                  \
	}
#define PASS                                                                                       \
	{                                                                                          \
		"passphrase-file", 'P', SP_OPTION_FILE, "FILE",                                    \
		    "first line: the passphrase of a k4.secret-pw. key", NULL, false               \
	}
#define REALM                                                                                      \
	{                                                                                          \
		"realm", 'r', SP_OPTION_TEXT, "REALM", "deployment (default: [space] realm)",      \
		    NULL, false                                                                    \
	}
#define ROOT                                                                                       \
	{                                                                                          \
		"root", 0, SP_OPTION_TEXT, "KEYS",                                                 \
		    "one or two k4.public. of the bundle root (default: [keys] root)", NULL, false \
	}
#define KEY                                                                                        \
	{                                                                                          \
		"key", 'k', SP_OPTION_FILE, "FILE", "signing key, 0600 (default: [keys] secret)",  \
		    NULL, false                                                                    \
	}
#define ROOTKEY                                                                                    \
	{                                                                                          \
		"key", 'k', SP_OPTION_FILE, "FILE", "the bundle root's secret key, 0600", NULL,    \
		    true                                                                           \
	}
#define ISSUER                                                                                     \
	{                                                                                          \
		"iss", 'i', SP_OPTION_TEXT, "NAME",                                                \
		    "name of the control plane (default: [space] name)", NULL, false               \
	}
#define AUDIT                                                                                      \
	{                                                                                          \
		"audit", 0, SP_OPTION_FILE, "FILE",                                                \
		    "audit lines go there (default: [audit] file)", NULL, false                    \
	}
#define OUT                                                                                        \
	{                                                                                          \
		"out", 'o', SP_OPTION_FILE, "FILE", "the file to write; never over another", NULL, \
		    true                                                                           \
	}

static const struct sp_option KEYGEN[] = {OUT, PASS, END};
static const struct sp_option PUBKEY[] = {
    {"id", 0, SP_OPTION_FLAG, NULL, "the key id k4.pid. instead", NULL, false}, PASS, END};
static const struct sp_option MINT[] = {KEY, PASS, REALM, ISSUER, SP_CLI_JOBS,
    {"agent", 'a', SP_OPTION_FILE, "SOCKET", "ask a signer instead of holding the key", NULL,
	false},
    {"window", 0, SP_OPTION_NUMBER, "N", "with --agent: records in flight (default: 1)", NULL,
	false},
    {"ttl", 't', SP_OPTION_NUMBER, "SECONDS", "life, 1 to 120 (default: 120)", NULL, false}, AUDIT,
    {"sandbox", 0, SP_OPTION_SANDBOX, "ID", "one token from flags: its sandbox", NULL, false},
    {"execution", 0, SP_OPTION_NUMBER, "N", "... its execution", NULL, false},
    {"worker", 0, SP_OPTION_TEXT, "ID", "... the worker", NULL, false},
    {"substrate", 0, SP_OPTION_CHOICE, "KIND", "... kubernetes or host", "kubernetes|host", false},
    {"pod-uid", 0, SP_OPTION_TEXT, "UUID", "... the pod, on kubernetes", NULL, false},
    {"activation", 0, SP_OPTION_TEXT, "ID", "... the activation", NULL, false},
    {"attempt", 0, SP_OPTION_NUMBER, "N", "... its attempt", NULL, false},
    {"caller", 0, SP_OPTION_TEXT, "NAME", "... the authorized principal", NULL, false},
    {"purpose", 0, SP_OPTION_CHOICE, "PURPOSE", "... control, attach, service-port or manage",
	"control|attach|service-port|manage", false},
    {"access", 0, SP_OPTION_TEXT, "OP,OP", "control, manage: operations or families", NULL, false},
    {"session", 0, SP_OPTION_TEXT, "ID", "attach: the session", NULL, false},
    {"port", 0, SP_OPTION_NUMBER, "N", "service-port: 1 to 65535", NULL, false},
    {"protocol", 0, SP_OPTION_CHOICE, "NAME", "service-port: tcp, http, websocket or tls",
	"tcp|http|websocket|tls", false},
    END};
static const struct sp_option VERIFY[] = {
    {"keys", 'K', SP_OPTION_FILE, "KEYS",
	"a bundle's directory, a file of k4.public. lines, or a key (default: [keys] bundle)", NULL,
	false},
    ROOT, REALM, SP_CLI_JOBS,
    {"purpose", 0, SP_OPTION_CHOICE, "PURPOSE", "with TOKEN: what it is presented for",
	"control|attach|service-port|manage", false},
    {"op", 0, SP_OPTION_TEXT, "OP", "control, manage: the operation", NULL, false},
    {"session", 0, SP_OPTION_TEXT, "ID", "attach: the session", NULL, false},
    {"port", 0, SP_OPTION_NUMBER, "N", "service-port: the port", NULL, false},
    {"protocol", 0, SP_OPTION_CHOICE, "NAME", "service-port: the protocol",
	"tcp|http|websocket|tls", false},
    {"at", 0, SP_OPTION_TIME, "TIME", "judge as if it were this time", NULL, false},
    {"skew", 0, SP_OPTION_NUMBER, "SECONDS", "clock difference forgiven, at most [keys] max_skew",
	NULL, false},
    END};
static const struct sp_option INSPECT[] = {
    {"at", 0, SP_OPTION_TIME, "TIME", "ask the clock at this time", NULL, false}, END};
static const struct sp_option AGENT[] = {
    {"listen", 'l', SP_OPTION_FILE, "SOCKET", "where it listens (default: [signer] socket)", NULL,
	false},
    KEY, PASS, REALM, ISSUER,
    {"ttl", 't', SP_OPTION_NUMBER, "SECONDS", "life, 1 to 120 (default: 120)", NULL, false}, AUDIT,
    END};
static const struct sp_option BUNDLE_BUILD[] = {ROOTKEY, PASS, OUT, REALM,
    {"serial", 's', SP_OPTION_NUMBER, "N", "higher than every one before", NULL, true},
    {"life", 't', SP_OPTION_NUMBER, "SECONDS",
	"until the bundle expires (default: 2592000, 30 days)", NULL, false},
    END};
static const struct sp_option BUNDLE_READ[] = {ROOT, REALM, END};
static const struct sp_option BUNDLE_INSTALL[] = {
    {"directory", 'd', SP_OPTION_DIRECTORY, "DIR",
	"where bundles are installed (default: [keys] bundle)", NULL, false},
    ROOT, REALM, SP_TRAIL_FLAG, END};
static const struct sp_option BUNDLE_REVOKE[] = {ROOTKEY, PASS, OUT,
    {"kid", 0, SP_OPTION_TEXT, "ID", "the k4.pid. of the key to revoke", NULL, true}, SP_TRAIL_FLAG,
    END};

static const struct sp_verb VERBS[] = {
    {"keygen", NULL, 0, 0, "make a signing key in a new file", KEYGEN,
	"spacecap keygen -o signer.key\nspacecap keygen -o root.key --passphrase-file root.pass\n",
	spacecap_keygen},
    {"pubkey", "FILE", 1, 1, "print a key's public half", PUBKEY,
	"spacecap pubkey signer.key >signer.pub\nspacecap pubkey --id signer.key\n",
	spacecap_pubkey},
    {"mint", NULL, 0, 0,
	"mint capabilities: routed records in, minted records out; or one from flags", MINT,
	"spacerouted route | spacecap mint -k signer.key | spacebridge send\n"
	"spacecap mint -k signer.key --sandbox s-42 --execution 7 --worker worker-a --substrate "
	"host "
	"--activation act-19 --attempt 1 --caller uid:1000 --purpose control --access file.read\n",
	spacecap_mint},
    {"verify", "[TOKEN]", 0, 1, "verify records with a capability, or one token", VERIFY,
	"spacecap mint | spacecap verify --keys signer.pub\n"
	"spacecap verify --keys signer.pub --purpose control --op file.read -- \"$TOKEN\"\n",
	spacecap_verify},
    {"inspect", "TOKEN", 1, 1, "print what a token says, unverified", INSPECT,
	"spacecap inspect \"$TOKEN\"\nprintf %s \"$TOKEN\" | spacecap inspect -\n",
	spacecap_inspect},
    {"agent", NULL, 0, 0, "serve as signer: one routed record a line in, one line out", AGENT,
	"spacecap agent --listen /run/space/signer.sock -k /etc/space/signer.key\n"
	"spacecap agent --listen /run/space/signer.sock --audit /var/log/space/signer.jsonl\n",
	spacecap_agent},
    {"bundle build", "KEY...", 1, 64, "make a bundle of verification keys", BUNDLE_BUILD,
	"spacecap bundle build -k root.key --serial 7 -o keys.tar.zst signer.pub\n"
	"spacecap bundle build -k root.key --serial 8 -o keys.tar.zst new.pub "
	"old.pub,until=2026-12-01T00:00:00Z gone.pub,revoked\n",
	spacecap_bundle_build},
    {"bundle verify", "FILE", 1, 1, "check a bundle's signature, realm and expiry", BUNDLE_READ,
	"spacecap bundle verify keys.tar.zst\n"
	"spacecap bundle verify --root k4.public.... -o json keys.tar.zst | jq .serial\n",
	spacecap_bundle_verify},
    {"bundle install", "FILE", 1, 1, "put a bundle into force", BUNDLE_INSTALL,
	"spacecap bundle install keys.tar.zst\n"
	"spacecap bundle install -c ./worker-a.ini keys.tar.zst\n",
	spacecap_bundle_install},
    {"bundle list", "[FILE|DIR]", 0, 1, "print the keys of a bundle (default: the installed one)",
	BUNDLE_READ, "spacecap bundle list\nspacecap bundle list keys.tar.zst\n",
	spacecap_bundle_list},
    {"bundle revoke", "FILE", 1, 1, "make the next bundle, with one key revoked", BUNDLE_REVOKE,
	"spacecap bundle revoke -k root.key --kid k4.pid.… -o next.tar.zst keys.tar.zst\n"
	"spacecap bundle revoke -k root.key --kid \"$(spacecap pubkey --id old.key)\" -o "
	"next.tar.zst keys.tar.zst\n",
	spacecap_bundle_revoke},
    {0},
};

static const struct sp_tool TOOL = {"spacecap", "capabilities, keys and key bundles", VERBS};

int main(int argc, char **argv)
{
	return sp_cli_main(&TOOL, argc, argv);
}
