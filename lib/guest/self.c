/* The keeper of the guest's key, and its rules. */
#include "guest/self.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include "base/file.h"
#include "base/text.h"
#include "base/util.h"
#include "record/json.h"

#define FILE_MAX 2048
#define BOOT_ID  "/proc/sys/kernel/random/boot_id"

struct sp_guest_self {
	const char *file;
	bool keyed;
	struct sp_guest_name name;
	uint8_t key[SP_GUEST_KEY_SIZE];
};

static int read_boot_id(char boot[37], struct sp_err *err)
{
	sp_auto_free char *text = NULL;
	size_t size;
	int bad = sp_file_read(AT_FDCWD, BOOT_ID, 0, 64, &text, &size, err);

	if (bad)
		return bad;
	text[strcspn(text, "\n")] = '\0';
	if (!sp_uuid_valid(text))
		return sp_fail(err, SP_E_UNAVAILABLE, BOOT_ID ": no boot id");
	memcpy(boot, text, 37);
	return 0;
}

/* The file is a rekey as it came, behind the id of the boot that it is of. */
static int write_file(const char *file, const struct sp_hello_ask *ask, struct sp_err *err)
{
	char text[64 + SP_HELLO_LINE_MAX], boot[37];
	struct sp_hello_ask bare = *ask;
	size_t size;
	int bad = read_boot_id(boot, err);

	bare.has_mac = false;
	memcpy(text, boot, 36);
	text[36] = '\n';
	size = sp_hello_ask_print(&bare, text + 37);
	if (!bad && size == 0)
		bad = sp_fail(err, -ENOMEM, "out of memory");
	if (!bad)
		bad = sp_file_replace(AT_FDCWD, file, 0600, text, 37 + size, err);
	sodium_memzero(text, sizeof(text));
	sodium_memzero(&bare, sizeof(bare));
	return bad;
}

static void take(struct sp_guest_self *self, const struct sp_hello_ask *ask)
{
	self->name = ask->name;
	memcpy(self->key, ask->key, sizeof(self->key));
	self->keyed = true;
}

static int take_file(struct sp_guest_self *self, const char *text, size_t size, struct sp_err *err)
{
	struct sp_hello_ask ask;
	char boot[37];
	int bad = read_boot_id(boot, err);

	if (bad)
		return bad;
	if (size < 37 || text[36] != '\n')
		return sp_fail(err, SP_E_BAD_KEY, "%s: not an agent's key", self->file);
	if (memcmp(text, boot, 36) != 0)
		return 0;
	bad = sp_hello_ask_parse(text + 37, size - 37, &ask, err);
	if (bad || ask.kind != SP_HELLO_REKEY)
		return sp_fail(err, SP_E_BAD_KEY, "%s: not an agent's key", self->file);
	take(self, &ask);
	sodium_memzero(&ask, sizeof(ask));
	return 0;
}

static int read_file(struct sp_guest_self *self, struct sp_err *err)
{
	char *text;
	size_t size;
	int bad = sp_file_read(AT_FDCWD, self->file, SP_FILE_SECRET, FILE_MAX, &text, &size, err);

	if (bad)
		return bad == -ENOENT ? 0 : bad;
	bad = take_file(self, text, size, err);
	sp_secret_free(text, size);
	return bad;
}

int sp_guest_self_new(const char *file, struct sp_guest_self **ret, struct sp_err *err)
{
	struct sp_guest_self *self = sodium_init() < 0 ? NULL : sodium_malloc(sizeof(*self));
	int bad;

	if (!self)
		return sp_fail(err, -ENOMEM, "no guarded memory for the agent's key");
	memset(self, 0, sizeof(*self));
	self->file = file;
	bad = file ? read_file(self, err) : 0;
	if (bad) {
		sodium_free(self);
		return bad;
	}
	*ret = self;
	return 0;
}

void sp_guest_self_free(struct sp_guest_self *self)
{
	sodium_free(self);
}

static const char *refusal(const struct sp_guest_self *self, const struct sp_hello_ask *ask,
    const struct sp_guest_link *link)
{
	uint8_t mac[SP_HELLO_SIZE];

	if (!self->keyed)
		return ask->has_mac ? "this guest has no key yet" : NULL;
	if (!ask->has_mac)
		return "this guest has a key already: a rekey must prove it";
	sp_rekey_ask_mac(self->key, ask, link, mac);
	return sodium_memcmp(mac, ask->mac, sizeof(mac)) == 0
		   ? NULL
		   : "the proof is not of this guest's key";
}

const char *sp_guest_self_sandbox(const struct sp_guest_self *self)
{
	return self->keyed ? self->name.sandbox : NULL;
}

static void rekey(struct sp_guest_self *self, const struct sp_hello_ask *ask,
    const struct sp_guest_link *link, struct sp_guest_verdict *verdict)
{
	const char *words = refusal(self, ask, link);
	struct sp_err err = {.message = ""};

	if (!words && self->file && write_file(self->file, ask, &err) < 0)
		words = err.message;
	verdict->passed = !words;
	if (words)
		(void)snprintf(verdict->words, sizeof(verdict->words), "%s", words);
	else
		take(self, ask);
}

static void judge(struct sp_guest_self *self, const struct sp_hello_ask *ask,
    const struct sp_guest_link *link, uint8_t mac[SP_HELLO_SIZE], struct sp_guest_verdict *verdict)
{
	if (ask->kind == SP_HELLO_REKEY) {
		verdict->op = "guest.rekey";
		rekey(self, ask, link, verdict);
		if (verdict->passed)
			sp_rekey_answer_mac(self->key, &self->name, link, mac);
		return;
	}
	verdict->op = "guest.hello";
	verdict->passed = self->keyed;
	if (self->keyed)
		sp_hello_mac(self->key, &self->name, link, ask->nonce, mac);
	else
		(void)snprintf(verdict->words, sizeof(verdict->words), "this guest has no key yet");
}

size_t sp_guest_self_answer(struct sp_guest_self *self, const char *line, size_t size,
    const struct sp_guest_link *link, char ret_line[SP_HELLO_LINE_MAX],
    struct sp_guest_verdict *ret)
{
	struct sp_guest_verdict verdict = {.op = NULL};
	struct sp_hello_ask ask = {.kind = SP_HELLO_HELLO};
	uint8_t mac[SP_HELLO_SIZE];
	struct sp_err err = {.message = ""};

	if (sp_hello_ask_parse(line, size, &ask, &err) < 0)
		(void)snprintf(verdict.words, sizeof(verdict.words), "%s", err.message);
	else
		judge(self, &ask, link, mac, &verdict);
	sodium_memzero(ask.key, sizeof(ask.key));
	*ret = verdict;
	return verdict.passed ? sp_hello_answer_print(ask.kind, mac, ret_line)
			      : sp_hello_error_print(verdict.words, ret_line);
}
