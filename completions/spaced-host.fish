# fish completion for spaced-host; generated from its table by `make completions`
function __fish_spaced-host_after
	set -l words (commandline -opc)[2..-1]
	set -l count (count $argv)
	test "$words[1..$count]" = "$argv"
end
function __fish_spaced-host_at
	set -l words (commandline -opc)[2..-1]
	test "$words" = "$argv"
end
function __fish_spaced-host_sandboxes
	begin
		spaceid list -o json
		spacerouted list -o json
	end 2>/dev/null |
		sed -n 's/.*"sandbox":"\\([^"]*\\)".*/\\1/p' | sort -u
end
function __fish_spaced-host_leases
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\\([^"]*\\)".*/\\1/p'
end
complete -c spaced-host -f
complete -c spaced-host -l sandbox -s s -x -a '(__fish_spaced-host_sandboxes)' -d 'whose bridge this is, if not the argument'
complete -c spaced-host -l listen -s l -r -F -d 'where the manager connects (default: bridge/SANDBOX.sock under [space] run_dir)'
complete -c spaced-host -l records -x -a '(__fish_complete_directories)' -d 'runtime records (default: records under [space] state_dir)'
complete -c spaced-host -l audit -r -F -d 'audit lines (default: [audit] file, else stderr)'
complete -c spaced-host -l config -s c -r -F -d 'configuration (default: $SPACE_CONFIG, then /etc/space/space.ini)'
complete -c spaced-host -l output -s o -x -a 'json table' -d 'json or table (default: table on a terminal)'
complete -c spaced-host -l color -x -a 'auto always never' -d 'auto, always or never (NO_COLOR is heeded)'
complete -c spaced-host -l verbose -s v -d 'say more on standard error'
complete -c spaced-host -l quiet -s q -d 'say errors only'
complete -c spaced-host -l help -s h -d 'this text'
complete -c spaced-host -a '(__fish_spaced-host_sandboxes)'
