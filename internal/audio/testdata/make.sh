#!/usr/bin/env bash
# Makes the recordings in this folder anew; README.md says what they are for.
set -euo pipefail
cd "$(dirname "$0")"

make() { # make FILE SECONDS OPTION... : a tone of 440 Hz
	local file=$1 seconds=$2
	shift 2
	ffmpeg -nostdin -v error -y -bitexact -f lavfi -i "sine=frequency=440:duration=$seconds" -fflags +bitexact -map_metadata -1 "$@" "$file"
}

make pcm.wav 0.5 -ar 8000
make extensible.wav 0.2 -ar 8000 -ac 4 -c:a pcm_s24le
make adpcm.wav 1 -ar 8000 -c:a adpcm_ima_wav
make mp3.wav 1.5 -ar 16000 -c:a libmp3lame -b:a 32k
ffmpeg -nostdin -v error -bitexact -f lavfi -i sine=duration=0.5 -ar 8000 -f wav - | cat >streamed.wav
make cbr.mp3 2 -ar 44100 -b:a 32k -write_xing 0 -id3v2_version 0
make vbr.mp3 3 -ar 22050 -q:a 9 -metadata title=tone
make mpeg25.mp3 2 -ar 8000 -b:a 8k
make layer2.mpga 1.5 -ar 16000 -c:a mp2 -b:a 32k -f mp2
make plain.m4a 1.2 -ar 16000 -b:a 24k
make faststart.m4a 1.2 -ar 16000 -b:a 24k -movflags +faststart
make fragmented.mp4 2 -ar 16000 -b:a 24k -movflags +frag_keyframe+empty_moov -frag_duration 500000
make alac.m4a 0.3 -ar 8000 -c:a alac
ffmpeg -nostdin -v error -y -bitexact -f lavfi -i color=black:size=32x32:rate=10:duration=2 -f lavfi -i sine=duration=1.5 \
	-ar 16000 -b:a 24k -c:v mpeg4 -fflags +bitexact video.mp4
make opus.webm 2 -c:a libopus -b:a 12k
make vorbis.webm 1 -ar 16000 -c:a libvorbis -q:a 0
ffmpeg -nostdin -v error -bitexact -f lavfi -i sine=duration=1.5 -c:a libopus -b:a 12k -f webm -live 1 - | cat >live.webm
ffmpeg -nostdin -v error -y -bitexact -f lavfi -i color=black:size=32x32:rate=25:duration=1 -f lavfi -i sine=duration=1 \
	-c:v mpeg1video -c:a mp2 -b:a 32k -ar 32000 -f mpeg system.mpeg
ffmpeg -nostdin -v error -y -bitexact -f lavfi -i sine=duration=1 -c:a mp2 -b:a 32k -ar 32000 -f vob pack.mpeg
ffmpeg -nostdin -v error -y -bitexact -f lavfi -i sine=duration=1 -c:a ac3 -b:a 64k -ar 48000 -f vob ac3.mpeg
make plain.flac 1.5 -ar 16000
ffmpeg -nostdin -v error -bitexact -f lavfi -i "anoisesrc=duration=0.5:seed=7" -ar 8000 -ac 2 -c:a flac -f flac - | cat >streamed.flac
make voice.ogg 2 -ar 48000 -c:a libopus -b:a 16k -application voip -frame_duration 60
make music.ogg 1.5 -ar 48000 -ac 2 -c:a libopus -b:a 48k -frame_duration 2.5
make vorbis.ogg 1.5 -ar 16000 -c:a libvorbis -q:a 0
make speex.ogg 1.5 -ar 16000 -c:a libspeex
make flac.ogg 1.5 -ar 8000 -c:a flac
ffmpeg -nostdin -v error -y -bitexact -f lavfi -i color=black:size=32x32:rate=10:duration=2 -f lavfi -i sine=duration=1 \
	-ar 48000 -c:a libopus -b:a 16k -c:v libtheora -fflags +bitexact video.ogg
cat voice.ogg voice.ogg >chained.ogg
