# fish completion for sbx-manager; generated from its table by `make completions`
function __fish_sbx-manager_after
	set -l words (commandline -opc)[2..-1]
	set -l count (count $argv)
	test "$words[1..$count]" = "$argv"
end
function __fish_sbx-manager_at
	set -l words (commandline -opc)[2..-1]
	test "$words" = "$argv"
end
function __fish_sbx-manager_sandboxes
	begin
		spaceid list -o json
		spacerouted list -o json
	end 2>/dev/null |
		sed -n 's/.*"sandbox":"\\([^"]*\\)".*/\\1/p' | sort -u
end
function __fish_sbx-manager_leases
	spacestream list -o json 2>/dev/null |
		sed -n 's/.*"lease":"\\([^"]*\\)".*/\\1/p'
end
complete -c sbx-manager -f
complete -c sbx-manager -l listen -s l -r -F -d 'where clients connect (default: [manager] socket)'
complete -c sbx-manager -l records -x -a '(__fish_complete_directories)' -d 'runtime records (default: records under [space] state_dir)'
complete -c sbx-manager -l keys -r -F -d 'bundle directory, public key file or k4.public key (default: [keys] bundle)'
complete -c sbx-manager -l realm -x -d 'of the capabilities (default: [space] realm)'
complete -c sbx-manager -l audit -r -F -d 'audit lines (default: [audit] file, else stderr)'
complete -c sbx-manager -l config -s c -r -F -d 'configuration (default: $SPACE_CONFIG, then /etc/space/space.ini)'
complete -c sbx-manager -l output -s o -x -a 'json table' -d 'json or table (default: table on a terminal)'
complete -c sbx-manager -l color -x -a 'auto always never' -d 'auto, always or never (NO_COLOR is heeded)'
complete -c sbx-manager -l verbose -s v -d 'say more on standard error'
complete -c sbx-manager -l quiet -s q -d 'say errors only'
complete -c sbx-manager -l help -s h -d 'this text'
