/** How a menu and a panel at a control look. */
export const floating =
  'z-50 min-w-44 animate-appear rounded-float border border-line bg-surface p-1 shadow-float focus:outline-none'
