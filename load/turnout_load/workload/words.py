"""The words of synthetic prose: 256, so that one random byte picks one.

Each is one token, alone and after a space, in the tokenizers of Llama 3, Qwen 2.5, Gemma 3,
DeepSeek V3, GPT-4o, Mistral (SentencePiece v3 and Tekken), SmolLM2 and BERT.
"""

_TEXT = """
about after all already also an and answer any are as ask at be because been begin being best
blue boat both by can car center child clear close come company condition cost could course cut
day deep did different distance do door double early earth education even ever fact family
father figure fire fish food for forest free friend from full future game general given go good
great green group had half hand has have head help high hold home human idea if image important
in information interest into is it its just keep know knowledge land large left level light line
listen machine made make map market may member men method model more most mother much music must
natural near need never new news night no not now number of office old on one only open or order
other out over page paper part past period phone picture place plan plane play position possible
power present press pressure price program project question quick radio rather read real reason
record red report right road room rule run sea second see send set shape ship short show similar
simple since single size slow so social some son special speed stand state station stone stop
street strong sun surface take team test than that the their then there these they this those
though three through time to too total train tree try turn two up value very voice walk was
water well were west what when where which who wide will win with without would write years
"""
WORDS = tuple(_TEXT.split())
