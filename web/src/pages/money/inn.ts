/** What of an organization's data can be checked while it is typed; the gateway checks the same. */
const weigh = (digits: string, weights: readonly number[]) =>
  (weights.reduce((sum, w, i) => sum + w * Number(digits[i]), 0) % 11) % 10

/** Whether a text is an INN with right check digits: 10 digits of a company, 12 of a sole trader. */
export function innFits(inn: string): boolean {
  if (!/^\d+$/.test(inn) || /^0+$/.test(inn)) return false
  if (inn.length === 10) return weigh(inn, [2, 4, 10, 3, 5, 9, 4, 6, 8]) === Number(inn[9])
  return (
    inn.length === 12 &&
    weigh(inn, [7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) === Number(inn[10]) &&
    weigh(inn, [3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) === Number(inn[11])
  )
}
export const isSole = (inn: string): boolean => inn.length === 12
export const kppFits = (kpp: string): boolean => /^\d{4}[\dA-Z]{2}\d{3}$/i.test(kpp)

/** What to say of an INN as far as it is typed: nothing while digits are missing, unless something else is there. */
export function innProblem(inn: string): 'digits' | 'check' | null {
  if (!/^\d*$/.test(inn) || inn.length > 12) return 'digits'
  return (inn.length === 10 || inn.length === 12) && !innFits(inn) ? 'check' : null
}
