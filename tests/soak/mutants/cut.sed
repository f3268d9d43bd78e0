# lib/lease/rules.c
# A stream outlives its execution.
/^static enum sp_reason reason_of/,/^}/{
	s/if (compared.reason)/if (compared.reason == SP_REASON_SANDBOX)/
	s/if (record->cut_version > terms->version)/if (record->cut_version < 0)/
	s/return judge_epoch(terms, record, between);/return judge_epoch(terms, record, between) ? SP_REASON_NONE : SP_REASON_NONE;/
}
