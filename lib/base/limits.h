/* Every bound that an outsider can push against, in one place. Sizes are bytes unless named. */
#ifndef SP_BASE_LIMITS_H
#define SP_BASE_LIMITS_H

#define SP_LINE_MAX           (256u * 1024u) /* one record without its LF (01-records, Lines) */
#define SP_ASKED_MAX          (192u * 1024u) /* an asked record: room for route and capability later */
#define SP_JSON_DEPTH_MAX     16             /* nested arrays and objects, the outer one counted */
#define SP_INT_MAX            9007199254740991LL /* 2^53 - 1, what every JSON reader keeps exact */
#define SP_ID_MAX             128  /* sandbox, worker, activation, session, owner, ... */
#define SP_REQUEST_ID_MAX     128  /* a caller's `id` */
#define SP_TOKEN_MAX          4096 /* one capability (02-capability, Verification 1) */
#define SP_ACCESS_MAX         64   /* entries of an access list */
#define SP_CAP_LIFE_MAX       120  /* seconds, `exp` - `iat` */
#define SP_SKEW_MAX           15   /* seconds of clock difference forgiven at the most */
#define SP_ERR_MAX            512  /* one message */
#define SP_CONFIG_LINE_MAX    1021 /* one line of space.ini; 197 where inih is built with 200 */
#define SP_CONFIG_FILE_MAX    (256u * 1024u)
#define SP_KEY_FILE_MAX       4096            /* a PASERK file */
#define SP_BUNDLE_BYTES_MAX   (1024u * 1024u) /* unpacked */
#define SP_BUNDLE_MEMBERS_MAX 16
#define SP_BUNDLE_KEYS_MAX    64
#define SP_RECORD_FILE_MAX    (64u * 1024u) /* one runtime record */
#define SP_STORE_ENTRIES_MAX  1048576       /* sandboxes a store knows, tombstones counted */
#define SP_STORE_SLOTS_MAX    16384         /* holders of leases on one store */
#define SP_EXPORT_BYTES_MAX   (64u * 1024u * 1024u) /* of spaceid export, unpacked */
#define SP_EXPORT_MEMBERS_MAX 8192
#define SP_WINDOW_MAX         4096           /* records in flight in one filter */
#define SP_JOBS_MAX           64             /* threads that share one filter's or server's work */
#define SP_UNIX_PATH_MAX      107            /* longer paths go through a directory descriptor */
#define SP_READ_MAX           (128u * 1024u) /* one file.read */
#define SP_EXEC_OUTPUT_MAX    (64u * 1024u)  /* one of stdout, stderr, by default */
#define SP_VMM_CONNECTIONS    1023           /* what a Firecracker VSOCK device serves at once */
#define SP_EVIDENCE_MAX       (16u * 1024u)  /* one `bridge` or `vmm` object of a runtime record */
#define SP_EXECUTABLE_MAX     (512u * 1024u * 1024u) /* an executable that is hashed */
#define SP_THREADS_MAX        64    /* threads of a process looked at for a tracer */
#define SP_DESCRIPTORS_MAX    65536 /* descriptors of a process scanned for a socket */
#define SP_KEPT_MAX           4096  /* processes kept from the first look on, below level full */
#define SP_NETNS_MAX          256   /* network namespaces a look-up socket is kept in */
#define SP_CORNER_CONNECTIONS 256   /* connections in one network namespace of our own */
#define SP_LEASES_MAX         16384 /* streams open at once in one process */
#define SP_LEASES_ENDED       8192  /* leases that are remembered after their end, in one process */
#define SP_CAPTURE_BYTES_MAX  (1024u * 1024u) /* of attest --evidence, unpacked */
#define SP_CAPTURE_MEMBERS    19
#define SP_CAPTURE_CHECKS     128            /* of the report in it */
#define SP_CAPTURE_LINES      1024           /* of what the descriptors of one process are */
#define SP_CAPTURE_TEXT_MAX   (192u * 1024u) /* of these lines */

#endif
