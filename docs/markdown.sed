# What doxygen reads otherwise than other readers of Markdown do: links to files that are not pages of the reference stay
# plain text, and names of standard headers are no HTML tags.
s/\[([^]]*)\]\(([^):#]*\/)?[^):#.]*\)/\1/g
/^#include/!s/(^|[ *(])<([a-z_]+)>/\1\&lt;\2\&gt;/g
