/* Files of this directory as they are, in the program. The Makefile knows which object takes in
 * which. */
#ifndef SP_SPACESTREAM_EMBEDDED_H
#define SP_SPACESTREAM_EMBEDDED_H

/* The bytes of src/spacestream/FILE, from `name` up to `name`_end. */
#define EMBEDDED(name, file)                                                                       \
	__asm__(".pushsection .rodata\n" #name ":\n.incbin \"src/spacestream/" file "\"\n" #name   \
		"_end:\n.popsection\n");                                                           \
	extern const char name[] __attribute__((visibility("hidden")));                            \
	extern const char name##_end[] __attribute__((visibility("hidden")))

#endif
