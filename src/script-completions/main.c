/* script-completions NAME SHELL: the completions of a script, from its help on standard input. Part
 * of `make completions`; it is not installed. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/io.h"
#include "script-completions/help.h"

int main(int argc, char **argv)
{
	static char text[65536];
	static struct sp_script script;
	static const struct sp_verb no_verb = {0};
	static const struct sp_option no_option = {0};
	struct sp_completed completed = {.maker = "make completions",
	    .verbs = script.verbs,
	    .common_verbs = &no_verb,
	    .common_options = &no_option};
	size_t size = 0;
	ssize_t n;

	while ((n = sp_read_some(STDIN_FILENO, text + size, sizeof(text) - 1 - size)) > 0)
		size += (size_t)n;
	if (argc != 3 || n < 0 || sp_script_read(text, &script) < 0) {
		(void)fputs(
		    "usage: SCRIPT --help | script-completions SCRIPT bash|zsh|fish\n", stderr);
		return 2;
	}
	completed.name = argv[1];
	if (sp_completed_print(&completed, argv[2], stdout) < 0 || fflush(stdout) != 0)
		return 1;
	return 0;
}
