/* Whether a command has ended is seen by a signal that does it no harm; one that was stopped needs
 * it to hear of its end. */
#include "spacestream/hangup.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "client/attachment.h"
#include "record/json.h"

#define LOOKS ((unsigned)(HANGUP_GRACE / HANGUP_LOOK))

static void finish(struct hangup *hangup, const char *words)
{
	hangup_stop(hangup);
	hangup->ended(hangup->context, words);
}

static bool is_gone(const json_t *record)
{
	const char *number = json_string_value(json_object_get(record, "errno"));

	return number && (strcmp(number, "ESRCH") == 0 || strcmp(number, "ENOENT") == 0);
}

static void answered(void *context, const struct sp_call_end *end)
{
	struct hangup *hangup = context;
	char words[SP_ERR_MAX];
	int exit = sp_attachment_words(end, words);
	bool gone = is_gone(end->record);

	hangup->call = NULL;
	json_decref(end->record);
	free(end->text);
	if (exit)
		finish(hangup, gone ? NULL : words);
	else if (hangup->looks > 2 * LOOKS)
		finish(hangup, "its command does not end");
	else
		ev_timer_again(hangup->loop, &hangup->timer);
}

static void send_signal(struct hangup *hangup)
{
	const char *signal = hangup->looks == 0       ? "SIGTERM"
			     : hangup->looks == LOOKS ? "SIGKILL"
						      : "SIGCONT";
	sp_auto_json json_t *asked = json_pack("{s:s, s:s, s:{s:s, s:s}}", "op", "exec.signal",
	    "sandbox", hangup->sandbox, "args", "session", hangup->session, "signal", signal);
	struct sp_err err = {0};

	hangup->looks++;
	if (!asked || sp_call_start(hangup->path, hangup->who, asked, sp_json_write(asked, NULL, 0),
			  answered, hangup, &hangup->call, &err))
		finish(hangup, err.message);
}

static void on_timer(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)events;
	ev_timer_stop(loop, watcher);
	send_signal(watcher->data);
}

void hangup_start(struct hangup *hangup)
{
	ev_init(&hangup->timer, on_timer);
	hangup->timer.repeat = HANGUP_LOOK;
	hangup->timer.data = hangup;
	send_signal(hangup);
}

void hangup_stop(struct hangup *hangup)
{
	if (hangup->call)
		sp_call_cancel(sp_steal(&hangup->call));
	if (hangup->loop)
		ev_timer_stop(hangup->loop, &hangup->timer);
}
