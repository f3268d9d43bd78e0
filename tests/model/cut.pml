/*
 * Install, lease, cut (03-identity, The store; 06-streams, Lease): one sandbox's record on the disk, its entry in the
 * page, the slots of the holders, installers that change the record and may be killed between any two steps, holders
 * that open a lease and move bytes under it.
 *
 * What must hold, whatever the interleaving:
 *   promise  once a change has returned 0, no move begun under what it replaced is under way or ever begins
 *   place    no move begins under a record in whose place another already lies on the disk
 *   carry    a lease goes on only if nothing that cuts it lay between
 *   back     neither epoch nor version of the page goes back, and under the lock the page says what the disk says
 *
 * Taken out one at a time, each of these guards must make the model fail:
 *   -DLOOK_FIRST        (promise) a holder looks at the page before it marks its slot
 *   -DWAIT_FIRST        (promise) an installer reads the slots before it publishes
 *   -DNO_WAIT           (promise) an installer does not wait for the moves
 *   -DNO_PATIENCE       (promise) an installer that waited too long returns 0 all the same
 *   -DWAIT_FOR_OWN      (promise) a change that cuts nothing returns without waiting for what an earlier one cut
 *   -DREPEAT_AT_ONCE    (promise) a repeated change, with nothing left to do, returns without waiting
 *   -DSETTLED_FLOOR     (promise) settling raises the floor only where the version moves
 *   -DLATE_PENDING      (place) a change is marked pending after the rename
 *   -DWORD_FIRST        (place) the word that ends a change is published before the version
 *   -DLOOK_ONCE         (place) a holder takes a pending page for one that is not
 *   -DNO_LOOK_BACK -DCHANGES=3 -DDEATHS=0 (carry) a lease is compared with what is in force alone
 *   -DFORGET -DCHANGES=3 -DDEATHS=0 (carry) what the page no longer remembers counts as nothing
 *   -DNO_SETTLE         (back) what a dead writer left is not settled
 *   -DNO_LOCK -DINSTALLERS=2 (promise) two change at once
 *
 *
 * Short: -DCHANGES=2
 * Long: -DCHANGES=3
 * Long: -DCHANGES=2 -DINSTALLERS=2
 * Long: -DCHANGES=2 -DHOLDERS=2 -DDEATHS=0
 * Long: -DCHANGES=2 -DTORN -DMARKS=2
 *
 * Each step stands for the code named beside it; tests/bats/model.bats looks that it is there.
 */
#ifndef HOLDERS
#define HOLDERS 1
#endif
#ifndef CHANGES
#define CHANGES 2
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef MARKS
#define MARKS 1
#endif
#ifndef INSTALLERS
#define INSTALLERS 1
#endif
#define VERSIONS   8

#define ABSENT  0
#define ACTIVE  1
#define RETIRED 2

/* lib/lease/lease.c: weigh */
#define NOTHING  0
#define ATTEMPTS 1
#define REPLACED 2
#define UNKNOWN  3

#define PROMISE 1
#define PLACE   2
#define CARRY   3
#define BACK    4
#define HOLDS(property, what) assert((property) && (what))

#define BIGGER(a, b) ((a) > (b) -> (a) : (b))
#define BIT_OF(v)    (1 << (v))

/* Everything of this process up to here, or its death. */
#define STEP(what) if :: atomic { what } :: deaths > 0 -> goto died fi

typedef record { byte state, epoch, version, cut_version; bit route };

record disk;
byte changes = CHANGES, deaths = DEATHS;

/* The store's lock, dropped by the kernel with its process. lib/store/lock.c: take */
byte lock;

/* The sandbox's entry. `step`, `pending` and `state` are one word. lib/store/page.h: sp_page_entry */
byte step, state, epoch, version, floor_;
bit pending, under_change, writer_gone;
byte writer;
byte event[VERSIONS];

/* The slots. lib/store/slots.h: sp_slot */
byte mark[HOLDERS], slot_version[HOLDERS];
bit alive[HOLDERS];

/* What only the properties look at. */
bit moving[HOLDERS];
byte promised;		 /* the newest change in its place when one that has returned 0 ended */
byte newest;		 /* version of the newest change that pends, in its place on the disk */
short cuts_control, cuts_gateway; /* versions whose change cuts such a lease */

/* A change's outcome, the f_..., as it is published. lib/store/publish.c: sp_page_publish */
inline publish(effect)
{
#ifdef WORD_FIRST
	STEP(step++; pending = 0; state = f_state);
#endif
	STEP(HOLDS(BACK, f_version >= version && (f_epoch >= epoch || state == ABSENT)); epoch = f_epoch; version = f_version);
	STEP(floor_ = f_floor);
#ifndef WORD_FIRST
	/* lib/store/publish.c: set_word */
	STEP(step++; pending = 0; state = f_state);
#endif
	/* lib/store/publish.c: record_event */
	STEP(event[f_version] = effect; under_change = 0)
}

/* lib/store/change.c: sp_store_settle, follow */
inline settle()
{
	if
	:: under_change ->
		atomic {
			f_epoch = disk.epoch;
			f_version = BIGGER(version, disk.version);
			f_state = disk.state;
			f_floor = floor_;
			if
			:: disk.state == ABSENT && state != ABSENT ->
				f_epoch = epoch;
				f_version = version + 1;
				f_floor = f_version
			:: disk.state == ABSENT && state == ABSENT -> f_epoch = epoch
			:: else ->
				f_epoch = BIGGER((state == ABSENT -> 0 : epoch), disk.epoch);
				if
#ifdef SETTLED_FLOOR
				:: (pending || state == ABSENT) && f_version != version -> f_floor = f_version
#else
				:: pending || state == ABSENT -> f_floor = f_version
#endif
				:: else
				fi
			fi
		};
		publish(UNKNOWN)
	:: else
	fi
}

/* lib/store/slots.c: sp_slots_wait, collect, is_old */
inline collect()
{
#ifdef TORN
	i = 0;
	do
	:: i < HOLDERS ->
		if
		:: s_mark = mark[i]; s_version = slot_version[i]
		:: s_version = slot_version[i]; s_mark = mark[i]
		fi;
		atomic {
			busy[i] = (s_mark != 0 && s_version < cut_floor -> s_mark : 0);
			s_mark = 0;
			s_version = 0;
			i++
		}
	:: else -> break
	od;
	i = 0
#else
	STEP(i = 0;
		do
		:: i < HOLDERS -> busy[i] = (mark[i] != 0 && slot_version[i] < cut_floor -> mark[i] : 0); i++
		:: else -> i = 0; break
		od)
#endif
}

/* What is not looked at again is not to tell states apart. */
inline forget()
{
	new.state = 0;
	new.epoch = 0;
	new.version = 0;
	new.cut_version = 0;
	new.route = 0;
	f_state = 0;
	f_epoch = 0;
	f_version = 0;
	f_floor = 0;
	kind = 0;
	pends = 0
}

proctype installer(byte me)
{
	record new;
	byte kind, mine, owed, cut_floor, i, s_mark, s_version, busy[HOLDERS];
	byte f_state, f_epoch, f_version, f_floor;
	bit pends, waits;

next:
	atomic {
		mine = 0;
		kind = NOTHING;
		if
		:: changes > 0 -> changes--
		:: else -> goto done
		fi
	}
again:
	/* lib/store/lock.c: sp_store_lock */
#ifndef NO_LOCK
	atomic { lock == 0 -> lock = me + 1 }
#endif
#ifndef NO_SETTLE
	settle();
#endif
	/* lib/store/change.c: read_installed, reconcile, goes_back */
	STEP(HOLDS(BACK, disk.state == state && (state == ABSENT || (disk.version == version && disk.epoch == epoch)));
		 waits = 0; pends = 1);
	/* lib/store/change.c: change_locked, remove_locked; lib/store/rules.c: sp_change_decide */
	atomic {
		if
		:: mine != 0 && version == mine -> goto repeated
		:: mine != 0 && version != mine -> goto conflict
		:: else
		fi;
		new.state = disk.state;
		new.epoch = disk.epoch;
		new.route = disk.route;
		new.cut_version = disk.cut_version;
		new.version = version + 1;
		if
		:: disk.state == ACTIVE -> /* lib/store/rules.c: put_route, only_attempt_differs */
			kind = ATTEMPTS;
			new.epoch++
		:: disk.state != ABSENT -> /* lib/store/rules.c: put_route */
			kind = REPLACED;
			new.state = ACTIVE;
			new.epoch++;
			new.route = 1 - disk.route
		:: disk.state == ACTIVE -> /* lib/store/rules.c: install_same, decide_handoff */
			kind = NOTHING;
			pends = 0 /* lib/store/rules.c: sp_effect_pends */
		:: disk.state == ACTIVE -> /* lib/store/rules.c: decide_fence */
			kind = NOTHING;
			new.cut_version = new.version
		:: disk.state == ACTIVE -> /* lib/store/rules.c: decide_retire */
			kind = REPLACED;
			new.state = RETIRED;
			new.epoch++
		:: disk.state == RETIRED -> /* lib/store/change.c: sp_store_remove */
			kind = REPLACED;
			new.state = ABSENT
		:: disk.state == ABSENT -> /* lib/store/rules.c: decide_install */
			kind = REPLACED;
			new.state = ACTIVE;
			new.epoch = 1;
			new.cut_version = 0
		:: goto conflict
		fi
	};
#ifdef WAIT_FIRST
	cut_floor = new.version;
	collect();
#endif
	/* lib/store/change.c: carry_out, write_aside; lib/store/publish.c: sp_page_mark */
	STEP(writer = me + 1; writer_gone = 0; under_change = 1);
#ifndef LATE_PENDING
	STEP(pending = pends);
#endif
	/* lib/store/change.c: put_in_place */
	STEP(disk.state = new.state; disk.epoch = new.epoch; disk.version = new.version; disk.route = new.route;
		 disk.cut_version = new.cut_version; mine = new.version;
		 newest = (pends -> new.version : newest);
		 cuts_gateway = cuts_gateway |
			 (kind == REPLACED || new.cut_version == new.version -> BIT_OF(new.version) : 0);
		 cuts_control = cuts_control |
			 (kind != NOTHING || new.cut_version == new.version -> BIT_OF(new.version) : 0));
#ifdef LATE_PENDING
	STEP(pending = pends);
#endif
	atomic {
		f_state = new.state;
		f_epoch = new.epoch;
		f_version = new.version;
		f_floor = (pends -> new.version : floor_)
	};
	publish(kind);
#ifdef WAIT_FOR_OWN
	waits = pends;
#else
	waits = 1;
#endif
	goto unlock;
repeated:
	/* lib/store/change.c: cut_again */
#ifdef REPEAT_AT_ONCE
	waits = 0;
#else
	waits = 1;
#endif
unlock:
	/* lib/store/change.c: finish; lib/store/lock.c: sp_store_unlock */
	STEP(cut_floor = floor_; owed = newest; lock = (lock == me + 1 -> 0 : lock); forget());
#ifndef NO_WAIT
	if
	:: waits ->
#ifndef WAIT_FIRST
		collect();
#endif
		/* lib/store/slots.c: wait_for, drop_those_that_left, still_moving */
		do
		:: i < HOLDERS ->
			if
			:: atomic { busy[i] == 0 || mark[i] != busy[i] || !alive[i] -> busy[i] = 0; i++ }
			:: busy[i] != 0 && mark[i] == busy[i] && alive[i] -> goto timed_out
			:: deaths > 0 -> goto died
			fi
		:: else -> break
		od;
	:: else
	fi;
#endif
	/* It returns 0. lib/store/change.c: sp_store_change */
returned:
	atomic {
		promised = BIGGER(promised, owed);
		i = 0;
		do
		:: i < HOLDERS -> HOLDS(PROMISE, !moving[i] || slot_version[i] >= promised); i++
		:: else -> i = 0; break
		od;
		cut_floor = 0;
		owed = 0;
		waits = 0;
		goto next
	}
conflict:
	atomic { lock = (lock == me + 1 -> 0 : lock); forget(); goto next }
timed_out:
	/* It says so, and the same command again waits again. lib/store/slots.c: name_them */
#ifdef NO_PATIENCE
	goto returned;
#endif
	atomic {
		i = 0;
		do
		:: i < HOLDERS -> busy[i] = 0; i++
		:: else -> i = 0; break
		od;
		cut_floor = 0;
		owed = 0;
		waits = 0;
		if
		:: goto again
		:: goto next
		fi
	}
died:
	/* Killed: the lock goes, the page stays as it is. lib/store/page.c: sp_page_writer_gone */
	atomic {
		deaths--;
		writer_gone = (writer == me + 1 -> 1 : writer_gone);
		lock = (lock == me + 1 -> 0 : lock);
		cut_floor = 0;
		owed = 0;
		i = 0;
		do
		:: i < HOLDERS -> busy[i] = 0; i++
		:: else -> i = 0; break
		od;
		s_mark = 0;
		s_version = 0;
		waits = 0;
		forget();
		if
		:: mine != 0 -> goto again
		:: goto next
		fi
	}
done:
	skip
}

inline blink()
{
	v_version = 0;
	v_floor = 0;
	v_newest = 0;
	v_state = 0;
	v_pending = 0;
	v_dead = 0
}

inline unread()
{
	r.state = 0;
	r.epoch = 0;
	r.version = 0;
	r.route = 0;
	r.cut_version = 0
}

/* lib/store/page.c: sp_page_look */
inline look()
{
	do
	:: atomic { v_step = step; v_pending = pending; v_state = state };
#ifdef TORN
	   v_version = version;
	   v_floor = floor_;
#endif
	   atomic {
#ifndef TORN
		   v_version = version;
		   v_floor = floor_;
#endif
		   if
		   :: step == v_step && pending == v_pending && state == v_state ->
			   v_dead = (v_pending -> writer_gone : 0);
			   v_newest = newest;
			   v_step = 0;
			   break
		   :: else -> v_step = 0; blink()
		   fi
	   }
	od
}

/* The same where nothing hangs on how it is read: what comes of it is tried again before a byte moves. */
inline glance()
{
	v_pending = pending;
	v_state = state;
	v_version = version;
	v_floor = floor_;
	v_dead = (pending -> writer_gone : 0)
}

proctype holder(byte me)
{
	record r;
	byte moves, birth, seen, l_epoch, between, at;
	bit gateway, l_route;
	byte v_step, v_state, v_version, v_floor, v_newest, had, had_floor;
	bit v_pending, v_dead;

	if
	:: gateway = 0
	:: gateway = 1
	fi;
open:
	/* lib/lease/lease.c: sp_lease_open, admit, read_record; lib/store/store.c: sp_store_read */
	atomic {
		r.state = disk.state;
		r.version = disk.version;
		r.epoch = disk.epoch;
		r.route = disk.route
	};
	atomic { /* lib/lease/lease.c: find */
		glance();
		if
		:: !v_pending && v_state == ACTIVE && r.state == ACTIVE && v_version == r.version ->
			birth = v_version;
			seen = v_version;
			l_epoch = r.epoch;
			l_route = r.route;
			unread();
			blink()
		:: else ->
			unread();
			blink();
			if
			:: goto open
			:: goto done
			fi
		fi
	};
	do
	:: /* lib/store/holder.c: sp_holder_enter */
#ifdef LOOK_FIRST
	   look();
#endif
#ifdef TORN
	   slot_version[me] = seen;
#endif
	   atomic { slot_version[me] = seen; moves = (moves + 1) % MARKS; mark[me] = moves + 1 };
#ifndef LOOK_FIRST
	   look();
#endif
	   atomic {
		   if /* lib/store/holder.c: judge */
#ifdef LOOK_ONCE
		   :: v_state != ACTIVE || v_version != seen -> mark[me] = 0; blink(); goto compare
#else
		   :: v_pending || v_state != ACTIVE || v_version != seen -> mark[me] = 0; blink(); goto compare
#endif
		   :: else ->
			   HOLDS(PLACE, v_newest <= seen);
			   HOLDS(PROMISE, seen >= promised);
			   blink();
			   moving[me] = 1
		   fi
	   };
	   atomic { moving[me] = 0; mark[me] = 0 } /* lib/store/holder.c: sp_holder_leave */
	:: goto done /* lib/lease/lease_set.c: sp_lease_close */
	:: atomic { alive[me] = 0; goto done }
compare:
	   atomic { /* lib/lease/lease.c: sp_lease_settle */
		   glance();
		   if
		   :: v_pending && !v_dead -> /* lib/lease/lease.c: hold_still */
			   blink();
			   if
			   :: goto compare
			   :: goto done
			   fi
		   :: !v_pending && v_state == ACTIVE && v_version == seen -> goto goes_on
		   :: else -> had = v_version; had_floor = v_floor; blink()
		   fi
	   };
	   atomic { /* lib/lease/lease.c: compare; lib/store/current.c: sp_store_current, look */
		   glance();
		   if
		   :: v_pending && !v_dead -> blink(); had = 0; had_floor = 0; goto compare
		   :: (v_pending && v_dead) || v_state == ABSENT -> goto done
		   :: else -> r.version = v_version; blink()
		   fi
	   };
	   atomic { /* lib/store/store.c: sp_store_read; lib/store/current.c: agrees, disagree */
		   if
		   :: disk.version != r.version || disk.state == ABSENT || r.version != had ->
			   unread();
			   had = 0;
			   had_floor = 0;
			   goto compare
		   :: else
		   fi;
		   r.state = disk.state;
		   r.epoch = disk.epoch;
		   r.route = disk.route;
		   r.cut_version = disk.cut_version
	   };
	   atomic {
		   between = NOTHING;
#ifndef NO_LOOK_BACK
		   /* What lay between, or that it is forgotten. lib/lease/lease.c: look_back; lib/store/page.c: sp_page_next */
		   at = seen + 1;
		   if
		   :: had > at ->
			   if
			   :: do
			      :: at <= had ->
				      between = (event[at] == REPLACED || between == REPLACED -> REPLACED :
					      BIGGER(between, event[at]));
				      at++
			      :: else -> break
			      od
#ifdef FORGET
			   :: skip
#else
			   :: between = UNKNOWN
#endif
			   fi;
			   between = (between == UNKNOWN && had_floor <= seen -> NOTHING : between)
		   :: else
		   fi;
		   at = 0;
#endif
		   /* lib/lease/rules.c: sp_lease_judge, reason_of, judge_epoch */
		   if
		   :: r.state != ACTIVE || r.route != l_route || r.cut_version > birth -> goto done
		   :: else
		   fi;
		   if
		   :: between == REPLACED || r.epoch < l_epoch -> goto done
#ifndef FORGET
		   :: between == UNKNOWN -> goto done
#endif
		   :: between != REPLACED && r.epoch == l_epoch
		   :: between != REPLACED && r.epoch > l_epoch ->
			   if
			   :: gateway && (r.epoch == l_epoch + 1 || between == ATTEMPTS)
			   :: else -> goto done
			   fi
		   fi;
		   HOLDS(CARRY, (((gateway -> cuts_gateway : cuts_control) >> (birth + 1)) & (BIT_OF(had - birth) - 1)) == 0);
		   l_epoch = r.epoch;
		   seen = had
	   };
goes_on:
	   atomic {
		   had = 0;
		   had_floor = 0;
		   between = 0;
		   blink();
		   unread()
	   }
	od;
done:
	atomic { gateway = 0; birth = 0; seen = 0; l_epoch = 0; l_route = 0; had = 0; had_floor = 0; between = 0; at = 0; blink(); unread() }
}

init {
	atomic {
		if
		:: disk.state = ACTIVE
		:: disk.state = RETIRED
		fi;
		disk.epoch = 1;
		disk.version = 1;
		state = disk.state;
		epoch = 1;
		version = 1;
		floor_ = 1;
		byte n = 0;
		do
		:: n < HOLDERS -> alive[n] = 1; run holder(n); n++
		:: else -> n = 0; break
		od;
		do
		:: n < INSTALLERS -> run installer(n); n++
		:: else -> n = 0; break
		od
	}
}
