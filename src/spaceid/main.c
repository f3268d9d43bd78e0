/* spaceid: the table of its verbs. */
#include "spaceid/verbs.h"

#define RECORDS                                                                                    \
	{                                                                                          \
		"records", 0, SP_OPTION_DIRECTORY, "DIR",                                          \
		    "store of runtime records (default: <state_dir>/records)", NULL, false         \
	}
#define SANDBOX(words, required)                                                                   \
	{                                                                                          \
		"sandbox", 's', SP_OPTION_SANDBOX, "S", words, NULL, required                      \
	}

static const struct sp_option COMPARE[] = {
    {"selected", 0, SP_OPTION_FILE, "FILE", "compare this {sandbox, route}, once", NULL, false},
    {"installed", 0, SP_OPTION_FILE, "FILE",
	"with this one: {sandbox, route, state} or a record as `show` prints it", NULL, false},
    {"use", 0, SP_OPTION_CHOICE, "USE", "what it is compared for (default: open)",
	"open|established-control|established-gateway", false},
    {"records", 0, SP_OPTION_DIRECTORY, "DIR", "take `installed` from this store", NULL, false},
    SP_CLI_JOBS,
    {0},
};

static const struct sp_option INSTALL[] = {
    {"if-epoch", 0, SP_OPTION_NUMBER, "N", "only if the epoch is N (0: no record)", NULL, false},
    SP_TRAIL_FLAG,
    RECORDS,
    {0},
};

static const struct sp_option RETIRE[] = {
    SANDBOX("whose record", true),
    {"execution", 0, SP_OPTION_NUMBER, "N", "only if this execution is installed", NULL, true},
    SP_TRAIL_FLAG,
    RECORDS,
    {0},
};

static const struct sp_option HANDOFF[] = {
    SANDBOX("whose record", true),
    {"from", 0, SP_OPTION_TEXT, "OLD", "only if this is the owner", NULL, true},
    {"owner", 0, SP_OPTION_TEXT, "NEW", "the new owner", NULL, true},
    SP_TRAIL_FLAG,
    RECORDS,
    {0},
};

static const struct sp_option FENCE[] = {
    SANDBOX("whose record", true),
    {"cut", 0, SP_OPTION_FLAG, NULL, "also end every stream that is open", NULL, false},
    SP_TRAIL_FLAG,
    RECORDS,
    {0},
};

static const struct sp_option PRUNE[] = {
    {"routes", 0, SP_OPTION_FILE, "FILE",
	"who still has a route: lines of `spacerouted list`; - is standard input", NULL, false},
    {"no-routes", 0, SP_OPTION_FLAG, NULL, "no sandbox has a route any more", NULL, false},
    {"older-than", 0, SP_OPTION_NUMBER, "SECONDS", "spare younger ones (default: 86400)", NULL,
	false},
    SANDBOX("this one only; exit 14 when it is kept", false),
    SP_TRAIL_FLAG,
    RECORDS,
    {0},
};

static const struct sp_option STORE_ONLY[] = {
    RECORDS,
    {0},
};

static const struct sp_option SHOW[] = {
    {"history", 0, SP_OPTION_FLAG, NULL, "also the last 32 changes: when, what, from what to what",
	NULL, false},
    RECORDS,
    {0},
};

static const struct sp_option WATCH[] = {
    SANDBOX("changes of this one only", false),
    {"once", 0, SP_OPTION_FLAG, NULL, "end after the first change", NULL, false},
    {"until-epoch", 0, SP_OPTION_NUMBER, "N", "end once the epoch is N or higher", NULL, false},
    {"timeout", 0, SP_OPTION_NUMBER, "SECONDS",
	"wait so long (default: 60 with --once or --until-epoch, else for ever)", NULL, false},
    RECORDS,
    {0},
};

static const struct sp_option EXPORT[] = {
    SANDBOX("this one only", false),
    RECORDS,
    {0},
};

static const struct sp_option IMPORT[] = {
    {"into", 0, SP_OPTION_DIRECTORY, "DIR", "unpack into this new directory, for other commands",
	NULL, false},
    {0},
};

static const struct sp_option EXPLAIN[] = {
    SANDBOX("which one, where the line does not say", false),
    {"audit", 0, SP_OPTION_FILE, "FILE", "the audit file to look through (default: [audit] file)",
	NULL, false},
    {"keys", 0, SP_OPTION_FILE, "KEYS",
	"check a token's signature with these (default: [keys] bundle)", NULL, false},
    RECORDS,
    {0},
};

static const struct sp_verb VERBS[] = {
    {"compare", NULL, 0, 0, "say whether what was selected is what is installed", COMPARE,
	"spaceid compare < cases.jsonl\n"
	"spaceid compare --selected caller.json --records /var/lib/space/records",
	spaceid_compare},
    {"install", NULL, 0, 0, "install records from standard input", INSTALL,
	"spaceid install < record.json\n"
	"spaceid install --if-epoch 9 < record.json",
	spaceid_install},
    {"retire", NULL, 0, 0, "end an execution here; its record stays as a tombstone", RETIRE,
	"spaceid retire --sandbox s-42 --execution 7\n"
	"spaceid retire -s s-42 --execution 7 -o json | jq .effect\n",
	spaceid_retire},
    {"handoff", NULL, 0, 0, "change the owner and nothing else", HANDOFF,
	"spaceid handoff --sandbox s-42 --from op-7 --owner op-8\n"
	"spaceid handoff -s s-42 --from op-7 --owner op-8 -c ./worker-a.ini\n",
	spaceid_handoff},
    {"fence", NULL, 0, 0, "void every capability issued up to now", FENCE,
	"spaceid fence --sandbox s-42 --cut\n"
	"spaceid fence -s s-42 -o json | jq .epoch\n",
	spaceid_fence},
    {"prune", NULL, 0, 0, "take away old tombstones of sandboxes without a route", PRUNE,
	"spacerouted list > routes && spaceid prune --routes routes\n"
	"spaceid prune --routes routes --older-than 604800",
	spaceid_prune},
    {"show", "SANDBOX", 1, 1, "print one record as stored", SHOW,
	"spaceid show s-42\nspaceid show --history s-42\nspaceid show s-42 -o json | jq .route",
	spaceid_show},
    {"list", NULL, 0, 0, "print every record", STORE_ONLY,
	"spaceid list -o table\n"
	"spaceid list -o json | jq -r 'select(.state==\"active\").sandbox'\n",
	spaceid_list},
    {"watch", NULL, 0, 0, "print changes as they happen", WATCH,
	"spaceid watch --sandbox s-42 --once\n"
	"spaceid watch --sandbox s-42 --until-epoch 9 --timeout 30",
	spaceid_watch},
    {"explain", "[SANDBOX | TOKEN | LINE]", 0, 1,
	"say what a refusal, audit line, token or sandbox is about", EXPLAIN,
	"spaceid explain s-42\n"
	"spaceid explain < refusal.json\n"
	"tail -n 1 /var/log/space/manager.jsonl | spaceid explain -o json | jq .next",
	spaceid_explain},
    {"export", "FILE", 1, 1, "take records away as a tar, for debugging elsewhere", EXPORT,
	"spaceid export mismatch.tar\nspaceid export --sandbox s-42 - | ssh desk 'cat > s-42.tar'",
	spaceid_export},
    {"import", "FILE", 1, 1, "print the records of an export; installs nothing", IMPORT,
	"spaceid import mismatch.tar\n"
	"spaceid import --into look mismatch.tar && spaceid list --records look/records",
	spaceid_import},
    {0},
};

static const struct sp_tool TOOL = {"spaceid", "comparison and runtime records", VERBS};

int main(int argc, char **argv)
{
	return sp_cli_main(&TOOL, argc, argv);
}
