# lib/store/rules.c
# A retirement that comes late takes down the next execution.
s/if (installed->identity.route.execution != change->execution)/if (installed->identity.route.execution < change->execution)/
