# lib/token/capability.c
# A capability does not expire.
s/return now >= claims->expires_at + skew ? SP_REASON_EXPIRED : SP_REASON_NONE;/return SP_REASON_NONE;/
