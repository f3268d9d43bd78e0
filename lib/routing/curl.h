/* libcurl, loaded by the first etcd registry that is opened: most runs of the tools open none. Not
 * for others than the etcd backend. */
#ifndef SP_ROUTING_CURL_H
#define SP_ROUTING_CURL_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include "base/err.h"

/* Every function that is used, without its curl_. */
#define SP_CURL_FUNCTIONS(F)                                                                       \
	F(global_init)                                                                             \
	F(easy_init)                                                                               \
	F(easy_setopt)                                                                             \
	F(easy_getinfo)                                                                            \
	F(easy_perform)                                                                            \
	F(easy_strerror)                                                                           \
	F(easy_cleanup)                                                                            \
	F(multi_init)                                                                              \
	F(multi_setopt)                                                                            \
	F(multi_add_handle)                                                                        \
	F(multi_remove_handle)                                                                     \
	F(multi_socket_action)                                                                     \
	F(multi_info_read)                                                                         \
	F(multi_cleanup)                                                                           \
	F(slist_append)                                                                            \
	F(slist_free_all)

#define SP_CURL_POINTER(name) __typeof__(&curl_##name) name;
struct sp_curl_library {
	SP_CURL_FUNCTIONS(SP_CURL_POINTER)
};
#undef SP_CURL_POINTER

/* sp_curl.easy_init() is curl_easy_init(), once sp_curl_load has returned 0. */
extern struct sp_curl_library sp_curl;

/* SP_E_UNAVAILABLE. */
int sp_curl_load(struct sp_err *err);

#endif
