#include "textflag.h"

// Constants, and tables of 16 bytes that are looked up by a nibble.

DATA quote<>+0(SB)/1, $0x22
GLOBL quote<>(SB), RODATA|NOPTR, $1
DATA backslash<>+0(SB)/1, $0x5C
GLOBL backslash<>(SB), RODATA|NOPTR, $1
DATA lastControl<>+0(SB)/1, $0x1F
GLOBL lastControl<>(SB), RODATA|NOPTR, $1
DATA nibble<>+0(SB)/1, $0x0F
GLOBL nibble<>(SB), RODATA|NOPTR, $1
DATA lead3<>+0(SB)/1, $0x60 // a lead of three or four bytes less this is 0x80 or more
GLOBL lead3<>(SB), RODATA|NOPTR, $1
DATA lead4<>+0(SB)/1, $0x70
GLOBL lead4<>(SB), RODATA|NOPTR, $1
DATA high<>+0(SB)/1, $0x80
GLOBL high<>(SB), RODATA|NOPTR, $1

// What may follow a backslash, save u: the byte's nibbles have a bit in common.
DATA escapeLow<>+0(SB)/8, $0x00040008000D0000
DATA escapeLow<>+8(SB)/8, $0x0104000200000000
GLOBL escapeLow<>(SB), RODATA|NOPTR, $16
DATA escapeHigh<>+0(SB)/8, $0x0804020000010000
DATA escapeHigh<>+8(SB)/8, $0x0000000000000000
GLOBL escapeHigh<>(SB), RODATA|NOPTR, $16

// The errors that a byte and the one before it can make, by the high and the low nibble of the one before and the high one of the byte
// (John Keiser, Daniel Lemire, "Validating UTF-8 in less than one instruction per byte", 2021). Errors are what all three have in common:
// 01 too short, 02 too long, 04 overlong of 3, 08 above U+10FFFF, 10 surrogate, 20 overlong of 2, 40 overlong of 4 or above U+10FFFF, 80 two
// continuations, which are right where a longer character has begun.
DATA firstHigh<>+0(SB)/8, $0x0202020202020202
DATA firstHigh<>+8(SB)/8, $0x4915012180808080
GLOBL firstHigh<>(SB), RODATA|NOPTR, $16
DATA firstLow<>+0(SB)/8, $0xCBCBCB8B8383A3E7
DATA firstLow<>+8(SB)/8, $0xCBCBDBCBCBCBCBCB
GLOBL firstLow<>(SB), RODATA|NOPTR, $16
DATA secondHigh<>+0(SB)/8, $0x0101010101010101
DATA secondHigh<>+8(SB)/8, $0x01010101BABAAEE6
GLOBL secondHigh<>(SB), RODATA|NOPTR, $16

// odd has the bits at odd positions.
#define odd $0xAAAAAAAAAAAAAAAA

// bits puts the top bits of two vectors of bytes into one register.
#define bits(lo, hi, out, tmp) \
	VPMOVMSKB lo, out  \
	VPMOVMSKB hi, tmp  \
	SHLQ      $32, tmp \
	ORQ       tmp, out

// escapes finds which bytes a backslash escapes. In: slashes are the backslashes, carry is 1 if the first byte is escaped. Out: escaped, and
// carry for the next block. Of a series of backslashes each second one is escaped, and with it what follows a series of odd length: the
// subtraction runs through a series and ends on its other side (the simdjson library, json_escape_scanner).
#define escapes(slashes, carry, escaped, tmp) \
	MOVQ carry, escaped        \
	NOTQ escaped               \
	ANDQ slashes, escaped      \ // the backslashes that may escape something
	LEAQ (escaped)(escaped*1), tmp \
	ORQ  R15, tmp              \
	SUBQ escaped, tmp          \
	XORQ R15, tmp              \ // what escapes, and what ends a series
	MOVQ slashes, escaped      \
	ORQ  carry, escaped        \
	XORQ tmp, escaped          \
	MOVQ slashes, carry        \
	ANDQ tmp, carry            \
	SHRQ $63, carry

// invalid sets the bytes of out that are part of no character. p, p-1, p-2, p-3 are the text, moved by that many bytes.
#define invalid(cur, off, out) \
	VMOVDQU  (off-1)(SI)(DX*1), Y2 \
	VPSRLW   $4, Y2, Y3       \
	VPAND    Y12, Y3, Y3      \
	VPSHUFB  Y3, Y9, Y3       \ // firstHigh
	VPAND    Y12, Y2, Y2      \
	VPSHUFB  Y2, Y8, Y2       \ // firstLow
	VPAND    Y2, Y3, Y3       \
	VPSRLW   $4, cur, Y2      \
	VPAND    Y12, Y2, Y2      \
	VPSHUFB  Y2, Y7, Y2       \ // secondHigh
	VPAND    Y2, Y3, Y3       \
	VMOVDQU  (off-2)(SI)(DX*1), Y2 \
	VPSUBUSB Y6, Y2, Y2       \ // lead3
	VMOVDQU  (off-3)(SI)(DX*1), Y4 \
	VPSUBUSB Y5, Y4, Y4       \ // lead4
	VPOR     Y2, Y4, Y4       \
	VPAND    Y11, Y4, Y4      \ // high: a continuation must be here
	VPXOR    Y4, Y3, out

// func wideText(p *byte, n int) (at int, ok bool)
TEXT ·wideText(SB), NOSPLIT, $0-25
	MOVQ           p+0(FP), SI
	MOVQ           n+8(FP), CX
	XORQ           DX, DX              // the block
	XORQ           R8, R8              // 1: the first byte of the block is escaped
	XORQ           R9, R9              // the top bits of the last three bytes before the block
	SUBQ           $64, CX
	MOVQ           odd, R15
	VPBROADCASTB   quote<>(SB), Y15
	VPBROADCASTB   backslash<>(SB), Y14
	VPBROADCASTB   lastControl<>(SB), Y13
	VPBROADCASTB   nibble<>(SB), Y12
	VPBROADCASTB   high<>(SB), Y11
	VPXOR          Y10, Y10, Y10
	VBROADCASTI128 firstHigh<>(SB), Y9
	VBROADCASTI128 firstLow<>(SB), Y8
	VBROADCASTI128 secondHigh<>(SB), Y7
	VPBROADCASTB   lead3<>(SB), Y6
	VPBROADCASTB   lead4<>(SB), Y5

block:
	CMPQ      DX, CX
	JGT       end
	VMOVDQU   (SI)(DX*1), Y0
	VMOVDQU   32(SI)(DX*1), Y1
	VPCMPEQB  Y0, Y15, Y2
	VPCMPEQB  Y1, Y15, Y3
	bits(Y2, Y3, AX, DI)               // quotes
	VPCMPEQB  Y0, Y14, Y2
	VPCMPEQB  Y1, Y14, Y3
	bits(Y2, Y3, BX, DI)               // backslashes
	VPMINUB   Y0, Y13, Y2
	VPCMPEQB  Y0, Y2, Y2
	VPMINUB   Y1, Y13, Y3
	VPCMPEQB  Y1, Y3, Y3
	bits(Y2, Y3, R11, DI)              // control characters
	XORQ      R13, R13                 // what is escaped
	MOVQ      BX, DI
	ORQ       R8, DI
	JZ        utf8
	escapes(BX, R8, R13, DI)
	MOVQ      R13, DI
	NOTQ      DI
	ANDQ      DI, AX                   // quotes that close
	VBROADCASTI128 escapeLow<>(SB), Y4
	VPSHUFB   Y0, Y4, Y2
	VPSHUFB   Y1, Y4, Y3
	VBROADCASTI128 escapeHigh<>(SB), Y4
	VPSRLW    $4, Y0, Y0
	VPAND     Y12, Y0, Y0
	VPSHUFB   Y0, Y4, Y0
	VPAND     Y0, Y2, Y2
	VPCMPEQB  Y2, Y10, Y2
	VPSRLW    $4, Y1, Y1
	VPAND     Y12, Y1, Y1
	VPSHUFB   Y1, Y4, Y1
	VPAND     Y1, Y3, Y3
	VPCMPEQB  Y3, Y10, Y3
	bits(Y2, Y3, DI, R10)              // what is not escaped by one letter
	ANDQ      R13, DI
	ORQ       DI, AX
	VMOVDQU   (SI)(DX*1), Y0
	VMOVDQU   32(SI)(DX*1), Y1

utf8:
	ORQ       R11, AX                  // where to stop
	bits(Y0, Y1, R12, DI)
	MOVQ      R12, DI
	ORQ       R9, DI
	JZ        decide                   // all is ASCII
	MOVQ      R12, R9
	SHRQ      $61, R9
	invalid(Y0, 0, Y2)
	VPCMPEQB  Y2, Y10, Y0
	invalid(Y1, 32, Y2)
	VPCMPEQB  Y2, Y10, Y1
	bits(Y0, Y1, R10, DI)
	NOTQ      R10
	TESTQ     R10, R10
	JNZ       broken

decide:
	TESTQ     AX, AX
	JNZ       stop
	ADDQ      $64, DX
	JMP       block

broken:
	BSFQ      R10, R10
	TESTQ     AX, AX
	JZ        bad
	BSFQ      AX, DI
	CMPQ      DI, R10                  // what comes after the end of the text does not count
	JLT       stop

bad:
	VZEROUPPER
	MOVQ      DX, at+16(FP)
	MOVB      $0, ok+24(FP)
	RET

stop:
	BSFQ      AX, AX
	ADDQ      AX, DX
	BTQ       AX, R13
	SBBQ      $0, DX                   // at the backslash, if it is escaped
	VZEROUPPER
	MOVQ      DX, at+16(FP)
	MOVB      $1, ok+24(FP)
	RET

end:
	SUBQ      R8, DX
	VZEROUPPER
	MOVQ      DX, at+16(FP)
	MOVB      $1, ok+24(FP)
	RET

// func wideClose(p *byte, n int) (at int, found bool)
TEXT ·wideClose(SB), NOSPLIT, $0-25
	MOVQ         p+0(FP), SI
	MOVQ         n+8(FP), CX
	XORQ         DX, DX
	XORQ         R8, R8
	SUBQ         $64, CX
	MOVQ         odd, R15
	VPBROADCASTB quote<>(SB), Y15
	VPBROADCASTB backslash<>(SB), Y14

block:
	CMPQ     DX, CX
	JGT      end
	VMOVDQU  (SI)(DX*1), Y0
	VMOVDQU  32(SI)(DX*1), Y1
	VPCMPEQB Y0, Y15, Y2
	VPCMPEQB Y1, Y15, Y3
	bits(Y2, Y3, AX, DI)
	VPCMPEQB Y0, Y14, Y2
	VPCMPEQB Y1, Y14, Y3
	bits(Y2, Y3, BX, DI)
	MOVQ     BX, DI
	ORQ      R8, DI
	JZ       decide
	escapes(BX, R8, R13, DI)
	NOTQ     R13
	ANDQ     R13, AX

decide:
	TESTQ    AX, AX
	JNZ      found
	ADDQ     $64, DX
	JMP      block

found:
	BSFQ     AX, AX
	ADDQ     AX, DX
	VZEROUPPER
	MOVQ     DX, at+16(FP)
	MOVB     $1, found+24(FP)
	RET

end:
	SUBQ     R8, DX
	VZEROUPPER
	MOVQ     DX, at+16(FP)
	MOVB     $0, found+24(FP)
	RET
