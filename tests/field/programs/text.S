# A plugin whose code has the address of FUNCTION in an instruction (DT_TEXTREL, R_X86_64_64 in .text), as hand-written
# assembly and -mcmodel=large have. For the time of the relocation the linker makes the code writable (elf/dl-reloc.c,
# `textrels`), then read-only again: who writes such a slot as one in data, in which the protection that the file gives
# it is not looked at, ends by SIGSEGV.
#
# act returns what FUNCTION does of NULL and a name: a store of X509_STORE_new, or an address of dlsym.
	.text
	.globl act
	.type act, @function
act:
	sub $8, %rsp
	xor %edi, %edi
	lea name(%rip), %rsi
	movabs $FUNCTION, %rax
	call *%rax
	add $8, %rsp
	ret
	.size act, . - act
name:
	.string "X509_STORE_new"
	.section .note.GNU-stack, "", @progbits
