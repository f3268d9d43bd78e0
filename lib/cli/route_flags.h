/* One route from flags, for the verbs that take one that way. */
#ifndef SP_CLI_ROUTE_FLAGS_H
#define SP_CLI_ROUTE_FLAGS_H

#include "cli/cli.h"
#include "record/route.h"

/* Rows of an option table. */
#define SP_ROUTE_FLAGS                                                                             \
	{"execution", 0, SP_OPTION_NUMBER, "N", "the route: its execution", NULL, false},          \
	    {"worker", 0, SP_OPTION_TEXT, "ID", "... the worker", NULL, false},                    \
	    {"substrate", 0, SP_OPTION_CHOICE, "KIND", "... kubernetes or host",                   \
		"kubernetes|host", false},                                                         \
	    {"pod-uid", 0, SP_OPTION_TEXT, "UUID", "... the pod, on kubernetes", NULL, false},     \
	    {"activation", 0, SP_OPTION_TEXT, "ID", "... the activation", NULL, false},            \
	{                                                                                          \
		"attempt", 0, SP_OPTION_NUMBER, "N", "... its attempt", NULL, false                \
	}

/* Was any of them given? */
bool sp_cli_has_route(const struct sp_cli *cli);

/* The route they make; SP_E_USAGE names what is missing or wrong. */
int sp_cli_route(const struct sp_cli *cli, struct sp_route *ret, struct sp_err *err);

#endif
