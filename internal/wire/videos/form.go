package videos

import (
	"weir/internal/fault"
	"weir/internal/imagefile"
	"weir/internal/mediatype"
	"weir/internal/rawjson"
	"weir/internal/video"
	"weir/internal/wire"
)

// numbers, flags and objects are the fields of a form that are not strings in JSON.
var (
	numbers = map[string]bool{"duration": true, "n": true, "seed": true, "upscale_factor": true, "creativity": true}
	flags   = map[string]bool{"generate_audio": true}
	objects = map[string]bool{"provider": true, "frame_images": true, "input_references": true}
)

// DecodeForm reads a submission that is a form, as OpenAI's clients send it: input_reference is a file or the address of one, and the other
// fields are those of JSON. It fails like Decode.
func DecodeForm(body []byte, boundary string) (*video.Request, error) {
	guide := ""
	object, err := (&wire.ObjectForm{Op: op, Numbers: numbers, Flags: flags, Objects: objects, Media: func(p *wire.ObjectPart) (taken bool, err error) {
		switch p.Name {
		case "input_reference", "input_reference[image_url]":
			if guide != "" {
				return true, fault.Field(op, "input_reference", "Send one input_reference, not several.")
			}
			guide, err = reference(p)
			return true, err
		case "input_reference[file_id]":
			return true, fault.Field(op, "input_reference.file_id", "Images cannot be sent by the id of a file. Send the file itself as input_reference.")
		}
		return false, nil
	}}).Read(body, boundary)
	if err != nil {
		return nil, err
	}
	if guide != "" {
		object = rawjson.AppendText(append(object[:len(object)-1], `,"input_reference":`...), guide)
		if object = append(object, '}'); object[1] == ',' {
			object = append(object[:1], object[2:]...)
		}
	}
	d := decoder{Reader: wire.NewRequest(object, op, "callback_url"), body: object, req: &video.Request{Form: true}}
	return d.decode()
}

// reference returns the image of a form as an address.
func reference(p *wire.ObjectPart) (string, error) {
	if !p.File && len(p.Data) > 0 {
		return string(p.Data), nil // the decoder checks it
	}
	info, ok := imagefile.Of(p.Data)
	if !ok || info.MediaType == mediatype.SVG {
		return "", fault.Field(op, "input_reference", "input_reference must be a complete PNG, JPEG, WebP or GIF file.")
	}
	return imagefile.URL(info.MediaType, p.Data), nil
}
