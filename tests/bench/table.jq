# The figures of a run (tests/bench/run) as rows of a table. $part: `figures`, `curves` or `sum`; $earlier: the lines of
# another run, which they stand beside with $compare.

# The same figure, or point, of another run has this.
def key: [.bench, .plot, .curve, .at, .peer] | tostring;
# What the target is for.
def judged: .ratio // .value;
def percent: . * 100 | round | if . > 0 then "+\(.)%" else "\(.)%" end;
# More than a tenth worse than it was.
def worse($old): judged as $new | if .target | startswith(">=") then $new < 0.9 * $old else $new > 1.1 * $old end;
def short: if . >= 100 then round else . end | tostring;

($earlier | map({key: key, value: judged}) | from_entries) as $before |
def old: $before[key];
def change: old as $old | if $old == null then ["-", "new", ""] elif $old == 0 then [$old, "-", ""] else
	[$old, (judged / $old - 1 | percent), if worse($old) then "WORSE" else "" end] end;

def figures:
	["figure", "value", "peer", "its value", "ratio", "target", ""] + if $compare then ["before", "change", ""] else [] end,
	(.[] | select(.bench) |
		[.bench, "\(.value) \(.unit)", .peer // "-", if .peer then "\(.peer_value) \(.unit)" else "-" end,
			.ratio // "-", .target, if .met then "met" else "MISSED" end] + if $compare then change else [] end);

# The points' mean change.
def drift: map(old as $old | select($old != null and $old != 0) | .value / $old) |
	if length > 0 then add / length - 1 | percent else "new" end;
def curves: map(select(.curve)) | if length == 0 then empty else
	["cost of one", "with so many", "unit"] + if $compare then ["change"] else [] end + ["points"],
	(group_by([.plot, .curve])[] |
		[.[0].curve, .[0].plot, .[0].unit] + if $compare then [drift] else [] end +
		[map("\(.at): \(.value | short)") | join("   ")]) end;

if $part == "figures" then figures
elif $part == "curves" then curves
else map(select(.bench)) | ["\(length) figures, \(map(select(.met | not)) | length) MISSED"] end |
map(tostring) | join("\t")
