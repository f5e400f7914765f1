package app_test

import "weir/internal/app/apptest"

var manners = []apptest.Manner{
	{Name: "chat", Provider: "works", Path: "/v1/chat/completions", Ask: map[string]any{"messages": apptest.Question}},
	{Name: "responses", Provider: "works", Path: "/v1/responses", Ask: map[string]any{"input": "Tell me about weirs.", "store": false}},
	{Name: "responses over chat", Provider: "translated", Path: "/v1/responses", Ask: map[string]any{"input": "Tell me about weirs.", "store": false}},
	{Name: "responses" + apptest.OfSocket, Provider: "works", Path: "/v1/responses", Ask: map[string]any{"input": "Tell me about weirs.", "store": false}, Socket: true},
	{Name: "responses over chat" + apptest.OfSocket, Provider: "translated", Path: "/v1/responses", Ask: map[string]any{"input": "Tell me about weirs.", "store": false}, Socket: true},
}
