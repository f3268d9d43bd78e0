/*
 * Fill, reject, watch (05-routing, Cache): one key of the cache, the lookups in flight for it, the registry, which is read
 * at one instant and whose answer comes later, the watch, which tells of each change in its order and later, callers who
 * get and reject, and an entry that may go at any time.
 *
 * Routes are numbered by the revision they were published with. What must hold, whatever the interleaving:
 *   order    the entry never goes back to an older route than the cache has held, told or been told of
 *   told     nobody is given an older route than that either, nor one that he has rejected
 *   older    no answer of the registry touches an entry that holds something newer
 *   revoked  once the cache knows of a revocation nobody who asks is served on rights from before it
 *
 * Taken out one at a time, each of these guards must make the model fail:
 *   -DNO_VERSION        (told) an answer counts though the entry has become another
 *   -DQUIET_OFFER       (order) the watch's news leave lookups under way alone
 *   -DQUIET_DROP -DCHANGES=1 (revoked) a revocation leaves lookups under way alone
 *   -DQUIET_FORGET      (order) an entry that goes leaves lookups under way alone
 *   -DQUIET_TELL        (order) what a reject was told without an entry leaves lookups under way alone
 *   -DOFFER_ANY         (order) the watch's news replace what is newer
 *   -DREJECT_ANY        (told) a reject is answered by what is not newer
 *   -DREJECT_BLIND      (told) a reject is not compared with what the entry holds now
 *
 * Short: -DCHANGES=1
 * Short: -DCHANGES=2 -DRENEWALS=0
 * Long: -DCHANGES=2 -DREJECTERS=2
 * Long: -DCHANGES=3 -DRENEWALS=0
 *
 * Each step is one turn of the cache's loop, and stands for the code named beside it.
 */
#ifndef CHANGES
#define CHANGES 2
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef RENEWALS
#define RENEWALS 1
#endif
#ifndef EVICTIONS
#define EVICTIONS 1
#endif
#ifndef REJECTERS
#define REJECTERS 1 /* callers who may reject what they got */
#endif
#define CALLERS 2

#define ORDER   1
#define TOLD    2
#define OLDER   3
#define REVOKED 4
#define HOLDS(property, what) assert((property) && (what))

#define BIGGER(a, b) ((a) > (b) -> (a) : (b))

/* lib/routing/cache_internal.h: sp_cache_use */
#define FILL    0
#define REFRESH 1
#define RENEW   2
#define USES    3

#define NOBODY   0 /* of a flight: none */
#define ASKED    1
#define ANSWERED 2

/* The registry, and what the watch will tell of it: a route, or that it is gone, or a revocation. */
byte revision = 1, revocations;
bit there = 1, granted = 1;
byte changes, told_of;
byte news[CHANGES + 1]; /* revision << 2 | 1: published, 0: retired; 2: revoked */

/* lib/routing/cache_table.h: sp_cache_entry */
byte held; /* its route; 0: no entry */
byte entry_rights;

/* lib/routing/cache_internal.h: sp_flight */
typedef flight { byte state, version, route, rights, read_at; bit outrun };
/* Of a flight's version it counts only whether the entry is the one it was asked for: */
#define NONE  0 /* there was none */
#define SAME  1
#define OTHER 2 /* there was one that is no more */
#define VERSION     (held != 0 -> SAME : NONE)
flight flights[USES];

/* Who waits in which flight, 0: in none; what he rejected, what he was told. lib/routing/cache.h: sp_cache_ask */
byte waits[CALLERS], rejected[CALLERS], answer[CALLERS];

/* What only the properties look at. */
byte high = 0, high_then[CALLERS], knows, knew[CALLERS];

byte n; /* counts within one step */

inline age(use)
{
	flights[use].version = (flights[use].version == SAME -> OTHER : flights[use].version)
}

/* The entry's version moves. lib/routing/cache_table.c: sp_cache_table_insert */
inline new_version()
{
	age(FILL);
	age(REFRESH);
	age(RENEW)
}

inline know(it)
{
	high = BIGGER(high, it)
}

/* lib/routing/cache.c: sp_cache_outrun */
inline outrun_all()
{
	flights[FILL].outrun = (flights[FILL].state != NOBODY);
	flights[REFRESH].outrun = (flights[REFRESH].state != NOBODY);
	flights[RENEW].outrun = (flights[RENEW].state != NOBODY)
}

/* lib/routing/cache.c: sp_cache_forget */
inline forget()
{
	held = 0;
	new_version();
	entry_rights = 0;
#ifndef QUIET_FORGET
	outrun_all()
#endif
}

/* lib/routing/cache_settle.c: insert, settle_entry; lib/routing/cache_offer.c: offer_entry */
inline hold(newer)
{
	HOLDS(ORDER, newer >= high);
	know(newer);
	held = newer;
	new_version()
}

/* lib/routing/cache_settle.c: tell */
inline tell(who, said)
{
	HOLDS(TOLD, said == 0 || said >= high_then[who]);
	HOLDS(TOLD, said == 0 || rejected[who] == 0 || said > rejected[who]);
	answer[who] = said;
	waits[who] = 0;
	rejected[who] = 0;
	high_then[who] = 0
}

inline serve(who)
{
	HOLDS(REVOKED, rejected[who] != 0 || entry_rights > knew[who]);
	tell(who, held)
}

/* Into a flight under way or a new one. lib/routing/cache.c: board, may_join, new_flight */
inline board(use)
{
	if
	:: flights[use].state == NOBODY -> flights[use].state = ASKED; flights[use].version = VERSION
	:: else
	fi
}

inline land(use)
{
	flights[use].state = NOBODY;
	flights[use].version = 0;
	flights[use].route = 0;
	flights[use].rights = 0;
	flights[use].read_at = 0;
	flights[use].outrun = 0
}

/* lib/routing/cache.c: sp_cache_take, sp_cache_answer_now, get_now, reject_now */
proctype caller(byte me)
{
	byte rounds = ROUNDS, got;

	do
	:: atomic {
		rounds > 0 -> rounds--;
		answer[me] = 0;
		high_then[me] = high;
		knew[me] = knows;
		if
		:: held != 0 -> serve(me)
		:: else -> board(FILL); waits[me] = FILL + 1
		fi
	   };
	   atomic { waits[me] == 0 -> got = answer[me] };
	   if
	   :: got == 0
	   :: got != 0
	   :: atomic {
		got != 0 && me < REJECTERS ->
		rejected[me] = got;
		high_then[me] = high;
		got = 0;
		if
#ifndef REJECT_BLIND
		:: held != 0 && held != rejected[me] -> serve(me)
#endif
		:: else -> board(REFRESH); waits[me] = REFRESH + 1
		fi
	      };
	      waits[me] == 0
	   fi;
	   atomic { got = 0; answer[me] = 0; knew[me] = 0 }
	:: atomic { rounds == 0 -> break }
	od
}

/* lib/routing/cache_settle.c: tell_all */
inline tell_all(use, said_)
{
	n = 0;
	do
	:: n < CALLERS && waits[n] == use + 1 -> tell(n, said_); n++
	:: n < CALLERS && waits[n] != use + 1 -> n++
	:: else -> n = 0; break
	od
}

/* lib/routing/cache_settle.c: look_again */
inline look_again(use)
{
	n = 0;
	do
	:: n < CALLERS ->
		if
		:: waits[n] == use + 1 && held != 0 && rejected[n] == 0 -> serve(n)
#ifndef REJECT_BLIND
		:: waits[n] == use + 1 && held != 0 && rejected[n] != 0 && rejected[n] != held -> serve(n)
#endif
		:: else
		fi;
		n++
	:: else -> n = 0; break
	od;
	if
	:: (use != RENEW && waits[0] != use + 1 && waits[1] != use + 1) -> land(use)
	:: else ->
		if
		:: tell_all(use, 0); land(use) /* unavailable */
		:: land(use); flights[use].state = ASKED; flights[use].version = VERSION
		fi
	fi
}

/* lib/routing/cache_settle.c: settle_authorization, tell_authorized, reauthorize */
inline settle_authorization(use)
{
	if
	:: flights[use].rights == 0 ->
		if
		:: held != 0 -> HOLDS(OLDER, flights[use].read_at >= held); forget()
		:: else
		fi;
		tell_all(use, 0)
	:: flights[use].rights != 0 && held == 0 && flights[use].route == 0 -> tell_all(use, 0)
	:: else ->
		entry_rights = flights[use].rights;
		if
		:: held != 0 -> new_version()
		:: else -> hold(flights[use].route)
		fi;
		n = 0;
		do
		:: n < CALLERS && waits[n] == use + 1 -> serve(n); n++
		:: n < CALLERS && waits[n] != use + 1 -> n++
		:: else -> n = 0; break
		od
	fi
}

/* lib/routing/cache_settle.c: settle_entry */
inline settle_entry()
{
	if
	:: flights[REFRESH].route == 0 ->
		HOLDS(OLDER, flights[REFRESH].read_at >= held);
		forget();
		tell_all(REFRESH, 0)
	:: flights[REFRESH].route != 0 ->
		if
#ifndef REJECT_ANY
		:: flights[REFRESH].route <= held ->
			n = 0;
			do
			:: n < CALLERS -> HOLDS(TOLD, waits[n] != REFRESH + 1 || rejected[n] >= held); n++
			:: else -> n = 0; break
			od;
			tell_all(REFRESH, 0) /* unchanged */
#endif
		:: else -> hold(flights[REFRESH].route); tell_all(REFRESH, held)
		fi
	fi
}

/* lib/routing/cache_settle.c: settle_without_entry */
inline settle_without_entry()
{
	n = 0;
	do
	:: n < CALLERS && waits[n] == REFRESH + 1 && flights[REFRESH].route > rejected[n] ->
		know(flights[REFRESH].route);
		tell(n, flights[REFRESH].route);
		n++
	:: n < CALLERS && waits[n] == REFRESH + 1 && flights[REFRESH].route <= rejected[n] -> tell(n, 0); n++
	:: n < CALLERS && waits[n] != REFRESH + 1 -> n++
	:: else -> n = 0; break
	od;
#ifndef QUIET_TELL
	outrun_all()
#endif
}

/* lib/routing/cache_settle.c: sp_cache_looked */
inline looked(use)
{
	if
#ifdef NO_VERSION
	:: flights[use].outrun -> look_again(use)
#else
	:: flights[use].outrun || flights[use].version != VERSION -> look_again(use)
#endif
	:: else ->
		if
		:: use != REFRESH -> settle_authorization(use)
		:: use == REFRESH && held != 0 -> settle_entry()
		:: else -> settle_without_entry()
		fi;
		land(use)
	fi
}

/* The registry is asked at one instant and answers in another. lib/routing/registry_sqlite_lookup.c: sp_sqlite_lookup;
 * src/spacerouted/server_ask.c: on_looked */
proctype lookup(byte use)
{
end:
	do
	:: atomic {
		flights[use].state == ASKED ->
		flights[use].state = ANSWERED;
		flights[use].read_at = revision;
		flights[use].route = (there -> revision : 0);
		flights[use].rights = (granted -> revocations + 1 : 0)
	   }
	:: atomic { flights[use].state == ANSWERED -> looked(use) }
	od
}

proctype registry()
{
	do
	:: changes < CHANGES -> /* lib/routing/publish.c: sp_route_change_apply */
		if
		:: atomic { revision++; there = 1; news[changes] = revision * 4 + 1; changes++ }
		:: atomic { there -> revision++; there = 0; news[changes] = revision * 4; changes++ }
		:: atomic { granted -> revocations++; granted = 0; news[changes] = 2; changes++ }
		:: atomic { !granted -> granted = 1; news[changes] = 3; changes++ }
		fi
	:: else -> break
	od
}

/* src/spacerouted/server_ask.c: server_poll */
proctype watch()
{
	byte what;
end:
	do
	:: atomic {
		told_of < changes ->
		what = news[told_of];
		told_of++;
		if
		:: what == 2 -> /* lib/routing/cache_drop.c: sp_cache_drop, outrun_flights */
			held = 0;
			new_version();
			entry_rights = 0;
			knows++;
#ifndef QUIET_DROP
			outrun_all()
#endif
		:: what == 3
		:: else -> /* lib/routing/cache_offer.c: sp_cache_offer, outrun_sandbox */
#ifndef QUIET_OFFER
			outrun_all();
#endif
			if
#ifdef OFFER_ANY
			:: held != 0 ->
#else
			:: held != 0 && what / 4 > held ->
#endif
				if
				:: what % 4 == 1 -> hold(what / 4)
				:: else -> forget()
				fi
			:: else
			fi;
			know(what / 4)
		fi;
		what = 0
	   }
	:: atomic { told_of == CHANGES -> break }
	od
}

/* An entry expires, or gives its place to others. lib/routing/cache.c: sp_cache_live_entry;
 * lib/routing/cache_settle.c: make_room */
proctype others()
{
	byte evictions = EVICTIONS, renewals = RENEWALS;
end:
	do
	:: atomic { evictions > 0 && held != 0 -> evictions--; forget() }
	:: atomic { renewals > 0 && flights[RENEW].state == NOBODY -> renewals--; board(RENEW) }
	:: atomic { evictions == 0 && renewals == 0 -> break }
	od
}

init {
	atomic {
		run registry();
		run watch();
		run caller(0);
		run caller(1);
		run others();
		run lookup(FILL);
		run lookup(REFRESH);
		run lookup(RENEW)
	}
}
