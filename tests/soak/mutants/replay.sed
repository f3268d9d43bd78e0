# lib/token/jti_set.c
# No jti is ever known.
/^bool sp_jti_set_has/,/^}/s/return .*;/return false;/
