/* Files of this directory as they are, in the program. The Makefile knows which object takes in
 * which. */
#ifndef SP_SPACESTREAM_EMBEDDED_H
#define SP_SPACESTREAM_EMBEDDED_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of src/spacestream/FILE, from `name` up to `name`_end. */
#define EMBEDDED(name, file)                                                                       \
	__asm__(".pushsection .rodata\n" #name ":\n.incbin \"src/spacestream/" file "\"\n" #name   \
		"_end:\n.popsection\n");                                                           \
	extern const char name[] __attribute__((visibility("hidden")));                            \
	extern const char name##_end[] __attribute__((visibility("hidden")))

/* Its bytes. As numbers: to the compiler, the two symbols are different objects. */
#define EMBEDDED_SIZE(name) ((size_t)((uintptr_t)name##_end - (uintptr_t)name))

#endif
