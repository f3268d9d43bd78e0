/* What is the case: who runs where, and what each worker holds. */
#include "lab.h"

void world_apply(struct world *world, const struct event *event)
{
	struct sandbox *sandbox = &world->sandboxes[event->sandbox];
	struct execution *execution = &sandbox->executions[event->execution];

	world->now = event->at;
	switch (event->kind) {
	case EVENT_ENTRY:
		world->watches[event->entry] = event->watch;
		break;
	case EVENT_INSTALL:
		*execution = (struct execution){event->worker, true, event->cause};
		sandbox->current = event->execution;
		sandbox->installed[event->worker] = event->execution;
		break;
	case EVENT_PUBLISH:
		sandbox->published = event->execution;
		break;
	case EVENT_RETIRE:
		if (sandbox->installed[execution->worker] == event->execution)
			sandbox->installed[execution->worker] = 0;
		execution->runs = false;
		break;
	case EVENT_STOP:
		execution->runs = false;
		break;
	case EVENT_FENCE:
	case EVENT_SEND:
	case EVENT_ARRIVE:
	case EVENT_OPEN:
	case EVENT_MOVE:
		break;
	}
}
