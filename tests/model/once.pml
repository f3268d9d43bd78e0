/*
 * Single use (02-capability, Verification 8 and 9): the journal of used jtis, its server, which may be killed between any
 * two steps and started again, and the power, which may fail: then what was not synced is there or not, each part by
 * itself, a rename as well as a slot.
 *
 * What must hold, whatever the interleaving:
 *   once     no capability is passed twice, not after a kill, a power failure, a clock that was set back, a failed sync
 *   whole    the journal that a name leads to is whole
 *
 * Taken out one at a time, each of these guards must make the model fail:
 *   -DPASS_FIRST        (once) a capability is passed before the sync
 *   -DPUT_LATE          (once) a capability counts as used only when it is synced
 *   -DSYNC_AGAIN        (once) a sync that failed is tried again
 *   -DNO_FLOOR          (once) the time up to which expired ones were thrown away is not kept with the file
 *   -DNO_DIRECTORY_SYNC (once) the directory is not synced after the rename
 *   -DNO_OPENING_SYNC   (once) the directory is not synced when a journal is opened
 *   -DNO_PARENT_SYNC    (once) the directory that holds a new directory is not synced
 *   -DSYNC_OF_OWN       (once) ... is synced by the one that made it alone
 *   -DRENAME_FIRST      (whole) the new file is renamed before it is synced
 *   -DNO_LOCK -DSERVERS=2 (once) two servers use one journal
 *
 * Short:
 * Long: -DKILLS=2 -DFAILURES=2
 * Long: -DREPLACEMENTS=2 -DCLOCKS=3
 * Long: -DSERVERS=2
 *
 * Each step stands for the code named beside it.
 */
#ifndef KILLS
#define KILLS 1
#endif
#ifndef FAILURES
#define FAILURES 1
#endif
#ifndef REPLACEMENTS
#define REPLACEMENTS 1
#endif
#ifndef CLOCKS
#define CLOCKS 2
#endif
#ifndef SERVERS
#define SERVERS 1
#endif
#define FILES   (REPLACEMENTS + FAILURES + 2) /* one after the other: an empty one at first, and after a loss */
#define JTIS    2

#define ONCE  1
#define WHOLE 2
#define HOLDS(property, what) assert((property) && (what))

#define BIGGER(a, b) ((a) > (b) -> (a) : (b))
#define BIT_OF(j)    (1 << (j))
/* One jti expires before the other. lib/token/capability.c: sp_capability_verify */
#define EXPIRES(j) ((j) + 2)

/* Names: 0: none, else the number of a file. What is seen, and what the disk has. */
byte name, name_disk;
bit directory, directory_disk;
byte last;

/* A file's slots, a bit for each jti, with the times they were accepted at, and the header's floor. What is seen, and what
 * the disk has; `clean`: what the kernel believes to be on the disk. lib/token/journal.c: write_file, make_slot, read_file */
typedef file { byte slots, clean, disk, floor_, at[JTIS]; bit whole, whole_disk };
file files[FILES + 1];

byte lock;
byte now = 1, clocks = CLOCKS, kills = KILLS, failures = FAILURES, replacements = REPLACEMENTS, broken = 1;
byte passed[JTIS];
bit down[SERVERS];

#ifdef NO_FLOOR
#define FLOOR_KEPT 0
#else
#define FLOOR_KEPT floor_
#endif

#ifdef PUT_LATE
#define USED_BY_PUT  used
#define USED_BY_SYNC (used | pending)
#else
#define USED_BY_PUT  (used | BIT_OF(jti))
#define USED_BY_SYNC used
#endif

#define STEP(what) if :: atomic { !down[me]; what } :: atomic { down[me] -> goto dead } fi

/* lib/token/journal.c: replace_file, write_file */
inline replace_file(keep)
{
	STEP(last++; file_now = last; files[last].slots = keep; files[last].floor_ = FLOOR_KEPT; files[last].whole = 1);
#ifndef RENAME_FIRST
	STEP(files[file_now].clean = keep; files[file_now].disk = keep; files[file_now].whole_disk = 1);
#endif
	STEP(name = file_now);
#ifdef RENAME_FIRST
	STEP(files[file_now].clean = keep; files[file_now].disk = keep; files[file_now].whole_disk = 1);
#endif
#ifndef NO_DIRECTORY_SYNC
	/* lib/base/file.c: sp_file_sync_directory */
	STEP(name_disk = name)
#endif
}

proctype server(byte me)
{
	byte used, pending, floor_, file_now, jti, at;
	bit failed;

endstart:
	/* lib/token/journal.c: sp_journal_open, lock */
#ifdef NO_LOCK
	atomic { !down[me] };
#else
	atomic { lock == 0 && !down[me] -> lock = me + 1 };
#endif
	/* lib/base/file.c: sp_directory_make */
	if
	:: !directory ->
		STEP(directory = 1);
#ifdef SYNC_OF_OWN
		STEP(directory_disk = 1)
#endif
	:: else
	fi;
#if !defined NO_PARENT_SYNC && !defined SYNC_OF_OWN
	STEP(directory_disk = 1);
#endif
	/* lib/token/journal.c: open_file, take_header, take_slot */
	if
	:: name == 0 -> replace_file(0)
	:: else ->
		STEP(file_now = name; HOLDS(WHOLE, files[name].whole); used = files[name].slots;
			 floor_ = BIGGER(files[name].floor_, BIGGER(files[name].at[0], files[name].at[1])));
#ifndef NO_OPENING_SYNC
		STEP(name_disk = name)
#endif
	fi;
endserve:
	do
	:: atomic {
		!down[me] ->
		/* lib/token/journal.c: sp_journal_used, sp_journal_floor; lib/token/capability.c: sp_capability_verify */
		if
		:: jti = 0
		:: jti = 1
		fi;
		at = BIGGER(now, floor_);
		if
		:: (used & BIT_OF(jti)) || at >= EXPIRES(jti) || failed -> jti = 0; at = 0; goto next
		:: else
		fi
	   };
	   /* lib/token/journal.c: make_room; lib/token/jti_set.c: sp_jti_set_keep */
	   if
	   :: replacements > 0 ->
		STEP(replacements--;
			 used = (at >= EXPIRES(0) -> used & ~BIT_OF(0) : used);
			 used = (at >= EXPIRES(1) -> used & ~BIT_OF(1) : used);
			 floor_ = at);
		replace_file(used)
	   :: true
	   fi;
#ifdef PASS_FIRST
	   STEP(passed[jti]++; HOLDS(ONCE, passed[jti] < 2));
#endif
	   /* lib/token/journal.c: sp_journal_put, append */
	   STEP(files[file_now].slots = files[file_now].slots | BIT_OF(jti);
			files[file_now].at[jti] = at; floor_ = at; used = USED_BY_PUT; pending = pending | BIT_OF(jti);
			jti = 0; at = 0);
next:
	   skip
	:: pending != 0 ->
	   /* lib/token/journal.c: sp_journal_commit */
	   if
	   :: atomic {
		!down[me] && !failed ->
		files[file_now].disk = files[file_now].disk | (files[file_now].slots & ~files[file_now].clean);
		files[file_now].clean = files[file_now].slots
	      }
	   :: atomic { /* What a sync that failed leaves behind the kernel takes for written. */
		!down[me] && !failed && broken > 0 ->
		broken--;
		files[file_now].clean = files[file_now].slots;
#ifndef SYNC_AGAIN
		failed = 1;
		pending = 0;
#endif
		goto next2
	      }
	   :: atomic { down[me] -> goto dead }
	   fi;
#ifndef PASS_FIRST
	   /* src/spacebridge/forward_request.c: consume, may_pass; src/spacebridge/gateway_port.c: use_up */
	   STEP(used = USED_BY_SYNC;
			passed[0] = passed[0] + (pending & 1); passed[1] = passed[1] + ((pending >> 1) & 1); pending = 0;
			HOLDS(ONCE, passed[0] < 2 && passed[1] < 2));
#else
	   pending = 0;
#endif
next2:
	   skip
	:: atomic { down[me] -> goto dead }
	od;
dead:
	atomic {
		used = 0;
		pending = 0;
		floor_ = 0;
		file_now = 0;
		jti = 0;
		at = 0;
		failed = 0;
		lock = (lock == me + 1 -> 0 : lock);
		down[me] = 0;
		goto endstart
	}
}

inline lose(f)
{
	/* Each slot by itself; one that is torn is not there. lib/token/journal.c: check_fits */
	if
	:: files[f].slots = files[f].disk
	:: files[f].slots = files[f].disk | (files[f].slots & BIT_OF(0))
	:: files[f].slots = files[f].disk | (files[f].slots & BIT_OF(1))
	:: true
	fi;
	files[f].at[0] = (files[f].slots & 1 -> files[f].at[0] : 0);
	files[f].at[1] = (files[f].slots & 2 -> files[f].at[1] : 0);
	files[f].whole = files[f].whole_disk;
	files[f].disk = files[f].slots;
	files[f].clean = files[f].slots
}

proctype world()
{
	byte n;
end:
	do
	:: atomic { clocks > 0 -> clocks--; if :: now = 1 :: now = 2 :: now = 3 fi }
	:: atomic { kills > 0 -> kills--; n = 0; if :: n = 0 :: SERVERS > 1 -> n = SERVERS - 1 fi; down[n] = 1; n = 0 }
	:: atomic {
		failures > 0 -> failures--;
		n = 0;
		do
		:: n < SERVERS -> down[n] = 1; n++
		:: else -> n = 0; break
		od;
		if
		:: name = name_disk
		:: true
		fi;
		name_disk = name;
		if
		:: !directory_disk -> directory = 0; name = 0; name_disk = 0
		:: true
		fi;
		directory_disk = directory;
		n = 1;
		do
		:: n <= FILES -> lose(n); n++
		:: else -> n = 0; break
		od
	   }
	od
}

init {
	atomic {
		byte n = 0;
		do
		:: n < SERVERS -> run server(n); n++
		:: else -> n = 0; break
		od;
		run world()
	}
}
