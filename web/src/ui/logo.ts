/** The lines of the logo, in a box of 22 by 22 */
export const water = 'M2 6.500c2.500 0 2.500 2 5 2s2.500-2 5-2 2.500 2 5 2 2-1 3-1.500'
export const wall = 'M4 12h14l-2.200 6H6.200z'
