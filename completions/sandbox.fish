# fish completion for sandbox; generated from its table by `make completions`
function __fish_sandbox_after
	set -l words (commandline -opc)[2..-1]
	set -l count (count $argv)
	test "$words[1..$count]" = "$argv"
end
function __fish_sandbox_at
	set -l words (commandline -opc)[2..-1]
	test "$words" = "$argv"
end
function __fish_sandbox_sandboxes
	begin
		spaceid list -o json
		spacerouted list -o json
	end 2>/dev/null |
		sed -n 's/.*"sandbox":"\\([^"]*\\)".*/\\1/p' | sort -u
end
function __fish_sandbox_leases
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\\([^"]*\\)".*/\\1/p'
end
complete -c sandbox -f
complete -c sandbox -n __fish_sandbox_at -a activate -d 'makes a started VMM servable: starts its bridge, enrolls both, installs the runtime record, checks what was enrolled, publishes the route'
complete -c sandbox -n '__fish_sandbox_after activate' -l execution -x -d 'the execution that is meant'
complete -c sandbox -n '__fish_sandbox_after activate' -l vmm-pid -x -d 'the VMM\'s process'
complete -c sandbox -n '__fish_sandbox_after activate' -l uds-path -r -F -d 'its VSOCK socket'
complete -c sandbox -n '__fish_sandbox_after activate' -l activation -x -d '(default: act-N)'
complete -c sandbox -n '__fish_sandbox_after activate' -l attempt -x -d '(default: 1); what was started again, a bridge or a VMM, is the next attempt'
complete -c sandbox -n '__fish_sandbox_after activate' -l substrate -x -a 'host kubernetes' -d '(default: host)'
complete -c sandbox -n '__fish_sandbox_after activate' -l pod-uid -x -d 'with kubernetes'
complete -c sandbox -n '__fish_sandbox_after activate' -l endpoint -x -d '(default: unix: and [manager] socket)'
complete -c sandbox -n '__fish_sandbox_after activate' -l bridge-pid -x -d 'a spaced-host that runs already, a unit\'s; else it is started here, and logs to SANDBOX.log beside its socket'
complete -c sandbox -n '__fish_sandbox_after activate' -l cid -x -d 'the VMM\'s guest CID'
complete -c sandbox -n '__fish_sandbox_after activate' -l api -r -F -d 'the VMM\'s API socket'
complete -c sandbox -n '__fish_sandbox_after activate' -l guest-key -r -F -d 'the key that the guest has: its predecessor\'s, which came with the snapshot (0600)'
complete -c sandbox -n '__fish_sandbox_after activate' -l owner -x -d '(default: the activation\'s); handoff: the new one'
complete -c sandbox -n '__fish_sandbox_after activate' -l config -s c -r -F -d 'the control plane\'s configuration (default: $SPACE_CONFIG, /etc/space/space.ini)'
complete -c sandbox -n '__fish_sandbox_after activate' -l worker-config -r -F -d 'the (new) worker\'s (default: the control plane\'s)'
complete -c sandbox -n '__fish_sandbox_after activate' -l from-config -r -F -d 'the old worker\'s (default: the new one\'s)'
complete -c sandbox -n '__fish_sandbox_after activate' -l worker-run -x -d 'what runs a tool on the (new) worker, as \'ssh worker-b\' or \'ip netns exec b\''
complete -c sandbox -n '__fish_sandbox_after activate' -l from-run -x -d 'what runs a tool on the old worker'
complete -c sandbox -n '__fish_sandbox_after activate' -l output -s o -x -a 'json table' -d 'a line a step (default: table on a terminal)'
complete -c sandbox -n '__fish_sandbox_after activate' -l help -s h -d 'this text'
complete -c sandbox -n '__fish_sandbox_after activate' -a '(__fish_sandbox_sandboxes)'
complete -c sandbox -n __fish_sandbox_at -a resume -d 'with --prepare: fences the execution in service and cuts its streams; after this its snapshot is taken, with its guest key: the file in records/guest-keys that is named by the record\'s guest.id. With --execution: activates that one on the new worker, then retires the old one on the old worker'
complete -c sandbox -n '__fish_sandbox_after resume' -l prepare -d 'fence and cut, before the snapshot'
complete -c sandbox -n '__fish_sandbox_after resume' -l from-lost -d 'the old worker cannot be reached: tell it later, with `retire`'
complete -c sandbox -n '__fish_sandbox_after resume' -l execution -x -d 'the execution that is meant'
complete -c sandbox -n '__fish_sandbox_after resume' -l vmm-pid -x -d 'the VMM\'s process'
complete -c sandbox -n '__fish_sandbox_after resume' -l uds-path -r -F -d 'its VSOCK socket'
complete -c sandbox -n '__fish_sandbox_after resume' -l activation -x -d '(default: act-N)'
complete -c sandbox -n '__fish_sandbox_after resume' -l attempt -x -d '(default: 1); what was started again, a bridge or a VMM, is the next attempt'
complete -c sandbox -n '__fish_sandbox_after resume' -l substrate -x -a 'host kubernetes' -d '(default: host)'
complete -c sandbox -n '__fish_sandbox_after resume' -l pod-uid -x -d 'with kubernetes'
complete -c sandbox -n '__fish_sandbox_after resume' -l endpoint -x -d '(default: unix: and [manager] socket)'
complete -c sandbox -n '__fish_sandbox_after resume' -l bridge-pid -x -d 'a spaced-host that runs already, a unit\'s; else it is started here, and logs to SANDBOX.log beside its socket'
complete -c sandbox -n '__fish_sandbox_after resume' -l cid -x -d 'the VMM\'s guest CID'
complete -c sandbox -n '__fish_sandbox_after resume' -l api -r -F -d 'the VMM\'s API socket'
complete -c sandbox -n '__fish_sandbox_after resume' -l guest-key -r -F -d 'the key that the guest has: its predecessor\'s, which came with the snapshot (0600)'
complete -c sandbox -n '__fish_sandbox_after resume' -l owner -x -d '(default: the activation\'s); handoff: the new one'
complete -c sandbox -n '__fish_sandbox_after resume' -l config -s c -r -F -d 'the control plane\'s configuration (default: $SPACE_CONFIG, /etc/space/space.ini)'
complete -c sandbox -n '__fish_sandbox_after resume' -l worker-config -r -F -d 'the (new) worker\'s (default: the control plane\'s)'
complete -c sandbox -n '__fish_sandbox_after resume' -l from-config -r -F -d 'the old worker\'s (default: the new one\'s)'
complete -c sandbox -n '__fish_sandbox_after resume' -l worker-run -x -d 'what runs a tool on the (new) worker, as \'ssh worker-b\' or \'ip netns exec b\''
complete -c sandbox -n '__fish_sandbox_after resume' -l from-run -x -d 'what runs a tool on the old worker'
complete -c sandbox -n '__fish_sandbox_after resume' -l output -s o -x -a 'json table' -d 'a line a step (default: table on a terminal)'
complete -c sandbox -n '__fish_sandbox_after resume' -l help -s h -d 'this text'
complete -c sandbox -n '__fish_sandbox_after resume' -a '(__fish_sandbox_sandboxes)'
complete -c sandbox -n __fish_sandbox_at -a handoff -d 'gives the resident to another lifecycle operation; route, capabilities and streams stay'
complete -c sandbox -n '__fish_sandbox_after handoff' -l owner -x -d '(default: the activation\'s); handoff: the new one'
complete -c sandbox -n '__fish_sandbox_after handoff' -l from -x -d 'the owner so far'
complete -c sandbox -n '__fish_sandbox_after handoff' -l config -s c -r -F -d 'the control plane\'s configuration (default: $SPACE_CONFIG, /etc/space/space.ini)'
complete -c sandbox -n '__fish_sandbox_after handoff' -l worker-config -r -F -d 'the (new) worker\'s (default: the control plane\'s)'
complete -c sandbox -n '__fish_sandbox_after handoff' -l from-config -r -F -d 'the old worker\'s (default: the new one\'s)'
complete -c sandbox -n '__fish_sandbox_after handoff' -l worker-run -x -d 'what runs a tool on the (new) worker, as \'ssh worker-b\' or \'ip netns exec b\''
complete -c sandbox -n '__fish_sandbox_after handoff' -l from-run -x -d 'what runs a tool on the old worker'
complete -c sandbox -n '__fish_sandbox_after handoff' -l output -s o -x -a 'json table' -d 'a line a step (default: table on a terminal)'
complete -c sandbox -n '__fish_sandbox_after handoff' -l help -s h -d 'this text'
complete -c sandbox -n '__fish_sandbox_after handoff' -a '(__fish_sandbox_sandboxes)'
complete -c sandbox -n __fish_sandbox_at -a retire -d 'takes away the route, unless another execution has it, then the runtime record, then the bridge'
complete -c sandbox -n '__fish_sandbox_after retire' -l execution -x -d 'the execution that is meant'
complete -c sandbox -n '__fish_sandbox_after retire' -l config -s c -r -F -d 'the control plane\'s configuration (default: $SPACE_CONFIG, /etc/space/space.ini)'
complete -c sandbox -n '__fish_sandbox_after retire' -l worker-config -r -F -d 'the (new) worker\'s (default: the control plane\'s)'
complete -c sandbox -n '__fish_sandbox_after retire' -l from-config -r -F -d 'the old worker\'s (default: the new one\'s)'
complete -c sandbox -n '__fish_sandbox_after retire' -l worker-run -x -d 'what runs a tool on the (new) worker, as \'ssh worker-b\' or \'ip netns exec b\''
complete -c sandbox -n '__fish_sandbox_after retire' -l from-run -x -d 'what runs a tool on the old worker'
complete -c sandbox -n '__fish_sandbox_after retire' -l output -s o -x -a 'json table' -d 'a line a step (default: table on a terminal)'
complete -c sandbox -n '__fish_sandbox_after retire' -l help -s h -d 'this text'
complete -c sandbox -n '__fish_sandbox_after retire' -a '(__fish_sandbox_sandboxes)'
complete -c sandbox -n __fish_sandbox_at -a status -d 'where it stands: the route, each worker\'s record, which side is behind, what to do next; exit 0: served, 10: not'
complete -c sandbox -n '__fish_sandbox_after status' -l config -s c -r -F -d 'the control plane\'s configuration (default: $SPACE_CONFIG, /etc/space/space.ini)'
complete -c sandbox -n '__fish_sandbox_after status' -l worker-config -r -F -d 'the (new) worker\'s (default: the control plane\'s)'
complete -c sandbox -n '__fish_sandbox_after status' -l from-config -r -F -d 'the old worker\'s (default: the new one\'s)'
complete -c sandbox -n '__fish_sandbox_after status' -l worker-run -x -d 'what runs a tool on the (new) worker, as \'ssh worker-b\' or \'ip netns exec b\''
complete -c sandbox -n '__fish_sandbox_after status' -l from-run -x -d 'what runs a tool on the old worker'
complete -c sandbox -n '__fish_sandbox_after status' -l output -s o -x -a 'json table' -d 'a line a step (default: table on a terminal)'
complete -c sandbox -n '__fish_sandbox_after status' -l help -s h -d 'this text'
complete -c sandbox -n '__fish_sandbox_after status' -a '(__fish_sandbox_sandboxes)'
complete -c sandbox -n __fish_sandbox_at -a help -d 'says what a verb does and takes'
complete -c sandbox -n '__fish_sandbox_after help' -a 'activate resume handoff retire status help '
