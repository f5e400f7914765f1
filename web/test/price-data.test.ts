import { expect, test } from 'vitest'
import { doubtful, limitOf, pricesBody, type Line } from '../src/pages/admin/price-data'

const line = (name: string, usd: string | null): Line => ({
  name,
  per: '1000 tokens',
  usd,
  price: '1',
  vat: '0',
  cost: null,
  draft: null,
  image: null,
  video: null,
})

test('the name of a price says what limits it', () => {
  expect(limitOf('prompt')).toEqual({ name: 'prompt', above: null, hours: null })
  expect(limitOf('cache_read above 200000')).toEqual({ name: 'cache_read', above: '200000', hours: null })
  expect(limitOf('prompt mon,fri 09:00-12:00 Asia/Shanghai')).toEqual({
    name: 'prompt',
    above: null,
    hours: { days: 'mon,fri', from: '09:00', to: '12:00', zone: 'Asia/Shanghai' },
  })
  expect(limitOf('prompt 16:30-24:00 UTC')?.hours?.days).toBe('')
  expect(limitOf('video 720p with sound')).toBeNull()
})

test('prices go to the API as a base and a list for each limit', () => {
  const body = pricesBody([
    { line: line('prompt', '1'), value: '2' },
    { line: line('completion', '3'), value: '4' },
    { line: line('prompt above 1000', '5'), value: '6' },
    { line: line('completion above 1000', '7'), value: '8' },
    { line: line('prompt above 9000', null), value: '9' },
    { line: line('prompt sat,sun 01:00-02:00 UTC', '1'), value: '0.5' },
    { line: line('video 720p', '1'), value: '1' },
  ])
  expect(body).toEqual({
    price_usd: { prompt: '2', completion: '4' },
    thresholds: [
      { above: 1000, price_usd: { prompt: '6', completion: '8' } },
      { above: 9000, prices: { prompt: '9' } },
    ],
    hours: [{ from: '01:00', to: '02:00', zone: 'UTC', days: ['sat', 'sun'], price_usd: { prompt: '0.5' } }],
  })
})

test('a margin above 50 % is asked about', () => {
  expect(['50', '50.01', '15', '1500', '', 'x'].map(doubtful)).toEqual([
    false,
    true,
    false,
    true,
    false,
    false,
  ])
})

test('prices of images and of video go back with what they are for', () => {
  const image: Line['image'] = {
    component: 'image_output',
    unit: 'image',
    variant: 'high',
    resolution: null,
    basis: null,
  }
  const video: Line['video'] = { resolution: '720p', with_audio: false }
  expect(
    pricesBody([
      { line: { ...line('image_output high', '0.04'), per: 'image', image }, value: '0.05' },
      { line: { ...line('video 720p without sound', null), per: 'second', video }, value: '9' },
    ]),
  ).toEqual({
    images: [{ component: 'image_output', unit: 'image', variant: 'high', price_usd: '0.05' }],
    video: [{ resolution: '720p', with_audio: false, per_second: '9' }],
  })
})
