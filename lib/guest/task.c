/* Requests that take their time: a command until it ends, a removal in steps between other work. */
#include <errno.h>
#include <string.h>
#include "base/util.h"
#include "guest/client.h"

#define ENTRIES_A_STEP 256

static void unlink_task(struct sp_task *task)
{
	*task->at = task->next;
	if (task->next)
		task->next->at = task->at;
	task->agent->tasks--;
	ev_timer_stop(task->agent->loop, &task->step);
	sp_removal_free(task->removal);
}

/* `result` is stolen. */
static void finish(struct sp_task *task, int code, json_t *result, const struct sp_err *err)
{
	struct sp_client *client = task->client;

	unlink_task(task);
	if (client) {
		client->tasks--;
		sp_client_answer(client, task->id, code, result, err);
		sp_client_settle(client);
	} else {
		json_decref(result);
	}
	free(task);
}

static void on_exec(void *context, int code, json_t *result, const struct sp_err *err)
{
	finish(context, code, result, err);
}

static void on_step(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct sp_task *task = watcher->data;
	struct sp_err err = {0};
	int done = sp_removal_step(task->removal, ENTRIES_A_STEP, &err);

	(void)events;
	if (done == 0)
		ev_timer_start(loop, &task->step);
	else
		finish(task, done < 0 ? done : 0, done < 0 ? NULL : json_object(), &err);
}

static struct sp_task *new_task(struct sp_client *client, const char *id)
{
	struct sp_agent *agent = client->agent;
	struct sp_task *task = calloc(1, sizeof(*task));

	if (!task)
		return NULL;
	task->agent = agent;
	task->client = client;
	memcpy(task->id, id, strlen(id) + 1);
	ev_timer_init(&task->step, on_step, 0., 0.);
	task->step.data = task;
	task->next = agent->all_tasks;
	task->at = &agent->all_tasks;
	if (task->next)
		task->next->at = &task->next;
	agent->all_tasks = task;
	agent->tasks++;
	client->tasks++;
	return task;
}

void sp_task_start(struct sp_client *client, const char *id, bool exec, const json_t *args)
{
	struct sp_agent *agent = client->agent;
	struct sp_err err = {0};
	struct sp_task *task;
	int bad;

	if (agent->tasks >= agent->tasks_max) {
		bad = sp_fail(&err, -EAGAIN,
		    "%u operations are running already: the most that [guest] "
		    "max_sessions allows",
		    agent->tasks);
		sp_client_answer(client, id, bad, NULL, &err);
		return;
	}
	task = new_task(client, id);
	if (!task) {
		sp_client_answer(client, id, -ENOMEM, NULL, &err);
		return;
	}
	if (exec)
		bad = sp_exec_start(agent->loop, agent->root, &agent->files, args, on_exec, task,
		    &task->exec, &err);
	else
		bad = sp_removal_new(agent->root, args, &task->removal, &err);
	if (bad)
		finish(task, bad, NULL, &err);
	else if (!exec && !task->removal)
		finish(task, 0, json_object(), &err);
	else if (!exec)
		ev_timer_start(agent->loop, &task->step);
}

bool sp_task_find(const struct sp_client *client, const char *id)
{
	if (client->tasks == 0)
		return false;
	for (const struct sp_task *task = client->agent->all_tasks; task; task = task->next)
		if (task->client == client && strcmp(task->id, id) == 0)
			return true;
	return false;
}

void sp_task_forsake(struct sp_client *client)
{
	struct sp_task *next;

	for (struct sp_task *task = client->agent->all_tasks; task; task = next) {
		next = task->next;
		if (task->client != client)
			continue;
		task->client = NULL;
		if (task->exec)
			sp_exec_cancel(task->exec);
		else
			finish(task, SP_E_CLOSED, NULL, NULL);
	}
	client->tasks = 0;
}

void sp_task_kill_all(struct sp_agent *agent)
{
	for (struct sp_task *task = agent->all_tasks; task; task = task->next)
		if (task->exec)
			sp_exec_kill(task->exec);
}
