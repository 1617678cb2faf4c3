cd build/gpu; export PYTHONUNBUFFERED=1
t=$(date +%s)
for i in $(seq 0 13); do python check.py $i 14 ${CASES:-420} > $OUT/check$i.txt 2>&1 & done; wait; cat $OUT/check*.txt > /tmp/all.txt; rm $OUT/check*; cp /tmp/all.txt $OUT/check.txt; grep shard $OUT/check.txt; grep -v shard $OUT/check.txt | cut -c1-600 | head -12; echo check $(( $(date +%s)-t ))
for i in $(seq 0 13); do COMPILE=1 SHARD=$i OF=14 python bench.py > $OUT/c$i.txt 2>&1 & done; wait; cat $OUT/c*.txt > /tmp/all.txt; rm $OUT/c?.txt $OUT/c1?.txt; cp /tmp/all.txt $OUT/compile.txt; cut -c1-900 $OUT/compile.txt | head -8;  echo compiled $(( $(date +%s)-t ))
timeout 300 python bench.py 2>&1 | tee $OUT/bench.txt; echo done $(( $(date +%s)-t ))
