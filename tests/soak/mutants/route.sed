# lib/record/compare.c
# What was selected and what is installed never differ.
s/^	differs |= a->.*//
