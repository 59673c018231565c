# What doxygen reads otherwise than other readers of Markdown do. Code stays as it is written.
/^```/,/^```/b
# It finds pictures by their name, and pages but no places within them; links to what is no page of the reference become plain text.
s/(!\[[^]]*\]\()[^) ]*\/([^)\/ ]+\))/\1\2/g
s/\]\(([^):# ]*\.md)#[^)]*\)/](\1)/g
s/\[([^]]+)\]\(([^):# ]*\/)?[^):#. ]*\)/\1/g
s/\[([^]]+)\]\([^):# ]*\.(cpp|hpp|cu|c|h|py|sh|csv|json|txt)\)/\1/g
# Names of standard headers are no HTML tags.
s/(^|[ *(])<([a-z_]+)>/\1\&lt;\2\&gt;/g
