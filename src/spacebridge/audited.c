/* The record behind a refusal: asked for again, which costs nothing while it has not changed. */
#include "spacebridge/audited.h"

const struct sp_audit_installed *audited_installed(struct sp_store *store, const char *sandbox,
    enum sp_reason reason, struct sp_audit_installed *room)
{
	bool about_it =
	    sp_reason_decision(reason) == SP_REFRESH_ROUTE || reason == SP_REASON_FENCED;
	const struct sp_record *record;
	int bad = about_it && sandbox ? sp_store_current(store, sandbox, &record, NULL)
				      : SP_E_UNAVAILABLE;

	*room = (struct sp_audit_installed){.route = NULL};
	if (bad)
		return bad == SP_E_ABSENT ? room : NULL;
	*room =
	    (struct sp_audit_installed){&record->identity.route, record->epoch, record->retired};
	return room;
}
