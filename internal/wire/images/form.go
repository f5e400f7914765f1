package images

import (
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/imagefile"
	"weir/internal/mediatype"
	"weir/internal/wire"
)

// DecodeForm reads a request for an edit that is a form: image or image[] up to sixteen times, mask, and the fields of the JSON request,
// in which objects are JSON texts. It fails like Decode.
func DecodeForm(body []byte, boundary string) (*completion.Request, error) {
	var files formFiles
	object, err := (&wire.ObjectForm{Op: op, Numbers: numbers, Flags: flags, Objects: objects, Media: files.take}).Read(body, boundary)
	if err != nil {
		return nil, err
	}
	d := newDecoder(wire.NewRequest(object, op, ""), true)
	d.task.References, d.task.Mask = files.images, files.mask
	d.Object()
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		d.field(string(name))
	}
	return d.finish()
}

// variationPrompt is what a model is asked that has no route of its own for variations: an edit that changes nothing in particular.
const variationPrompt = "Make a variation of this image: the same subject, style and composition, with other details."

// DecodeVariation reads a request for variations of an image, which is a form: image once, and the fields of an edit but prompt and mask. It
// fails like Decode.
func DecodeVariation(body []byte, boundary string) (*completion.Request, error) {
	var files formFiles
	object, err := (&wire.ObjectForm{Op: op, Numbers: numbers, Flags: flags, Objects: objects, Media: files.take}).Read(body, boundary)
	if err != nil {
		return nil, err
	}
	d := newDecoder(wire.NewRequest(object, op, ""), true)
	d.task.References = files.images
	d.prompt, d.task.Prompt = true, variationPrompt
	d.Object()
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		if name := string(name); name == "prompt" || name == "stream" {
			d.Skip()
			d.FailAt(fault.Invalid, name, "A variation has no %s. Leave it out, or send the form to /v1/images/edits.", name)
			continue
		}
		d.field(string(name))
	}
	switch {
	case files.mask != "":
		d.FailAt(fault.Invalid, "mask", "A variation has no mask. Leave it out, or send the form to /v1/images/edits.")
	case len(files.images) > 1:
		d.FailAt(fault.Invalid, "image", "A variation is of one image, and the form has %d.", len(files.images))
	}
	return d.finish()
}

// numbers, flags and objects are the fields that are not strings in JSON.
var (
	numbers = map[string]bool{"n": true, "num_images": true, "num_outputs": true, "num_images_per_prompt": true, "batch_size": true, "number_of_images": true,
		"numberOfImages": true, "sampleCount": true, "samples": true, "n_images": true, "max_images": true, "width": true, "height": true, "seed": true, "output_compression": true, "partial_images": true}
	flags   = map[string]bool{"stream": true}
	objects = map[string]bool{"provider": true, "models": true, "input_references": true}
)

// formFiles are the images of a form, as addresses.
type formFiles struct {
	images []string
	mask   string
}

func (f *formFiles) take(p *wire.ObjectPart) (taken bool, err error) {
	switch p.Name {
	case "image", "image[]":
		if len(f.images) == maxReferences {
			return true, fault.Field(op, "image", "image has more than %d entries.", maxReferences)
		}
		address, err := address(p)
		f.images = append(f.images, address)
		return true, err
	case "mask":
		f.mask, err = address(p)
		return true, err
	}
	return false, nil
}

// address returns an image of a form as an address: a data URL of the file, or the address that a field has.
func address(p *wire.ObjectPart) (string, error) {
	if !p.File && len(p.Data) > 0 && checkAddress(p.Data) == "" {
		return string(p.Data), nil
	}
	info, ok := imagefile.Of(p.Data)
	if !ok || info.MediaType == mediatype.SVG {
		return "", fault.Field(op, p.Name, "%s must be a complete PNG, JPEG, WebP or GIF file.", p.Name)
	}
	return imagefile.URL(info.MediaType, p.Data), nil
}
