/* The first bytes of a client, raw or in frames: are they what the capability is for? */
#include "spacebridge/gateway.h"

static enum sp_first_verdict judge_raw(struct visit *visit)
{
	enum sp_first_verdict verdict = sp_first_take(
	    visit->first, visit->front.in + visit->judged, visit->front.size - visit->judged);

	visit->judged = visit->front.size;
	return verdict;
}

static enum sp_first_verdict judge_frames(struct visit *visit)
{
	enum sp_first_verdict verdict = sp_first_take(visit->first, NULL, 0);

	while (verdict == SP_FIRST_WAIT && visit->judged < visit->front.size) {
		struct sp_frame frame;
		size_t used = 0;
		int got = sp_frame_take(&visit->frames, visit->front.in + visit->judged,
		    visit->front.size - visit->judged, &used, &frame, NULL);
		visit->judged += used;
		if (got == 0)
			break;
		if (got < 0 || frame.type == SP_FRAME_END)
			return SP_FIRST_WRONG;
		if (frame.type == SP_FRAME_INPUT)
			verdict = sp_first_take(visit->first, frame.data, frame.size);
	}
	return verdict;
}

enum sp_first_verdict visit_judge(struct visit *visit)
{
	enum sp_first_verdict verdict = visit->framed ? judge_frames(visit) : judge_raw(visit);

	/* Whoever has ended, or sent so many frames without saying anything, says no more. */
	if (verdict == SP_FIRST_WAIT &&
	    (visit->client_ended || visit->front.size == GATEWAY_IN_MAX))
		return SP_FIRST_WRONG;
	return verdict;
}
