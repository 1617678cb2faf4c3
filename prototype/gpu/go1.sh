cd build/gpu; export PYTHONUNBUFFERED=1
t=$(date +%s)
for i in $(seq 0 13); do python check.py $i 14 ${CASES:-420} & done; wait; echo check $(( $(date +%s)-t ))
for i in $(seq 0 13); do COMPILE=1 SHARD=$i OF=14 python bench.py & done; wait; echo compiled $(( $(date +%s)-t ))
timeout 240 python bench.py; echo done $(( $(date +%s)-t ))
