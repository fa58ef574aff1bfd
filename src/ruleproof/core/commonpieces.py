"""Words and characters that are one token in both cl100k and o200k, found by counting each of them.

`COMMON_WORDS` are one token with and without a space before them and a capital at their start, `WORDS_AFTER_A_SPACE` in
lower case after a space. Data only: the rules that use it stand in `core.tokencount`.
"""

from __future__ import annotations

_WORDS = """
    about above absolute access account act action actions active actual actually add added adding additional
    address adds after again agent all allow allowed allows along already also always among amount an analysis
    and another answer any api app append application applications apply are arg args argument arguments around
    array as ask async at attribute attributes auth author auto avoid await away back backend background base
    based basic be because been before begin being below best better between bill binary bind binding bit block
    blocks body boolean both bound break browser bug build built business but button by byte bytes cache
    calculate call callback called caller calling calls can candidate cannot capture case cases catch categories
    category cause change changed changes chapter character characters charge check child class classes clean
    cleanup clear click client close code coding collect collection collections color com come command commands
    common compare comparison compatible compile complete completion complex component components compute config
    configuration confirm connection console constructor contact container contains content contents context
    continue control conversation conversion convert converted copy copyright core correct cost could count
    counter counts course court create created credentials criteria critical cross current currently custom cut
    data database date dates day days deal deep def default defaults define defined definition delete deleted
    dependency description design destination detail details development dict dictionary did difference
    different dir direct direction directory display distance distribution do docs document does domain don done
    double down download dump duplicate duration during dynamic each edge edit effect either element elements
    else email empty enabled encoding end engine ensure entity entries entry enum env environment equal error
    eval evaluate evaluation even event events ever every exact example examples except exception exceptions
    execute execution exist existing exists exit expect expected explicit express expression extension extra
    extract fact failed failure false family far feature features fee fetch few field fields file filename files
    fill filter filters final find finding first five fixed flag flags float focus follow for form format
    formats forms forward found foundation four fraction frame framework free from full fully fun function
    functions future game games general generate generated generator generic get getting git give given global
    go good got great group had half hand handle handler has hash have having he head header headers heading
    height help her here hex high hint his history hit hold home hook hooks host hours how html http human id
    identifier identity if image images immutable implement implementation import important imports in include
    included includes including index individual info information init initial input inside install instance
    instances instead instruction instructions int integer integration interactive interface interfaces internal
    into invalid io is issue it item items its join json just keep key keys keyword kind know known label labels
    language large last later latest law layout lazy leading least leave left legal length less let level lib
    library license like limit limited line lines link links list lists literal little live load loader local
    location locations lock log logging logic logical login long look loop lost low lower machine made main
    major make makes making manage management manager manual many map mapping match matches matching material
    max may me mean medium members memory merge message messages met meta metadata method metric metrics min
    missing mode model models modified modify module modules moment more most move ms much multiple music must
    mutable my name named names namespace native near need nested network never new next no node non none nor
    normal not note notes nothing notice now null number numbers numeric object objects of off offer official
    often ok old on once one online only open operation operator option options or order org organization origin
    original os other others our out output outside over override own owner package page pages pair parameter
    parameters parent parse part parts party pass passed password path paths pattern payment pending per perform
    performance permission permissions person place plan platform play please plus point points port position
    post power prefix prepare present previous price primary print prior private process processing product
    production products program progress project prompt properties property provide proxy public publish
    published pure purpose push put px python queries query question queue quotes raise raised raises random
    range rate rather raw read reading ready real reason received recent recommended record records reference
    references register regular release render replace report represent representation request requests require
    required requires reserved resolution resources response responses rest result results retry return returned
    returns review reviews right root round route rows rule rules run running runs runtime safe same sample say
    schema school scope score screen script scripts search second seconds section sections security see seen
    selection self send sent separator sequence series server service services session sessions set sets setting
    settings shape share shared she shell short should show shows side sign signal simple since single site size
    skills slots small so software some something soon sort sorted source sources space special specific split
    src stack standard star start started starting state statement states static status step still stop store
    stored stream strict string strings structure style subject success such sum support supported sure sync
    syntax sys system table tags take taken talk target task tasks tell template test testing tests text than
    that the their them theme then there these they thing things think third this those though thought thread
    three threshold through time timeout times title titles to token tokens too tool tools top topic total trace
    tracking transaction tree trial true try trying ts tuple turn two type typed types under unique unit unknown
    unless up update updated updates upon upper url us usage use used user users uses using utilities val valid
    validate validation validator value values variable version very via view views visible wait want was way we
    web weight well were what when where whether which while white who whole why width will window wins with
    within without word words work workflow working works world would write writes writing written year yes yet
    you your zero
"""
COMMON_WORDS = frozenset(_WORDS.split())

_AFTER_A_SPACE = """
    according accurate across afraid afternoon against agree agreed agreement agrees air alarm alarms alive allowing
    almost alone alternative although anger angry animal animals annotations answers anyone anything apart appear
    appeared appears apple applicable approach appropriate approval aren arm arms art article asked asking asks
    assignment associated assume assuming ate attempt attention authentication automatically available avoids baby
    bad bank baseline became become becomes becoming bed began beginning begins behavior behaviour behind believe
    believed believes beneath beside besides beyond big bird book books bottom bought boy bread breaks bring
    bringing brings broke brother brought budget building builds bus busy buy buying buys caching calculation
    calculations came captured car careful carefully carried carries carry cars caught caused causes century certain
    certainly chair changing checked checking checks children choice choose chooses chose church cities city clause
    clearly clients closed closes coffee cold comes coming companies company completely comprehensive computer
    concise condition conditions consider considered considers consistent const contain containing continued
    continues contributors conventions convey copies correctly corresponding couldn countries country cover covered
    covers creates creating creation customer customers damage dangerous dark daughter dead death debate decide
    decided decides decimal decision decisions definitions degree deletes demand department dependencies derivative
    derived described descriptor despite detailed detected determine develop developed develops didn die died dies
    difficult difficulty digits directly directories dirty disclaimer discussion disease distribute distributed
    doctor documentation documents doesn dog dogs door doubt draw draws drew dry duty ear early earth easy eat eats
    education effects efficiency efficient efficiently effort eight electronic eleven emails employee employees ends
    enemy energy enough ensures entire entirely equivalent errors especially etc evaluated evening eventually
    everyone everything evidence exactly executed exercise experience explain explained explains explicitly
    expressions extracted eye eyes face facts fail failing fails failures fall fallback falling falls fast father
    fear feedback feel feeling feels feet fell felt fifth figure figures film filtering finally finds fire fish fix
    fixes flavor flavors floor flower followed following follows food foot force formatting fourth freedom
    frequently friend friends front fruit functional further furthermore garden gave generally gets girl gives
    giving goal goals goes going gone government granted grew groups grow growing grows growth guess hadn hair
    handled handles handling hands happen happened happens happy hard hardly harm hasn hate haven health healthy
    hear heard hearing hears heart heavy held helped helping helps hence herself him himself holder holding holds
    hope hoped hopes horse hospital hot hour house houses however https hundred husband idea ideas identification
    identified identify identifying immediately impact implemented impossible improve income incorrect increase
    increased increases indeed industry influence interest internet interpreter involve involved involves involving
    isn issues itself job jobs joy judge keeping keeps kept killed kinds kitchen knew knowing knowledge knows lack
    languages late laws lead leads learn learned learning learns leaves leaving led leg legs len lesson lessons lets
    letter letters letting liability libraries licensed life light liked likely limitation limits listed listen
    listened literals lived lives living loading longer looked looking looks loops lose loses loss love machines
    mainly man marked market materials matter maybe meaning means meant meanwhile measure measures meat meet meeting
    meets member men mention methods middle might milk million mind mine minimize minor minute minutes mistake
    mistakes modification modifications money month months mood moon moreover morning mostly mother mountain mouth
    moved movement moves moving myself naming national nature nearly necessary needed needs negative nevertheless
    newline newspaper night nights nine nobody nose notices obtaining occurs offered offers office oldest ones
    opened opening opens operand operating operations opinion optimization optional orders otherwise ought ours
    pagination paid paper paragraph parsing particular particularly partly passes passing past patterns pay paying
    payments pays peace people performing perhaps period permitted personal persons phone phrase picture piece
    pieces placed places plane plans played playing plays pleasure pointed policies policy pool poor population
    positional positioned possible possibly potential practices precision prefer pressure prevent prevented prevents
    previously principle probably problem problems proceed processes produce produced produces profit programming
    programs projects promise promote proof proper proposal protection protocol provided provides pull pulled pulls
    purposes puts putting quality quantity questions quick quickly quite ran rare rarely rating reach reached
    reaches reaching reader reality realize realized really reasons receive receives recently reduces regardless
    related relationship relationships relevant remain remained remains remember remembered remembers removal remove
    removed removes removing repeat repeated replied reported reports reproduce requirements requiring research
    respect responsibility restriction retain retired retrieval retrieve retrieved returning rich rights risk risks
    river road role room rooms routes row sad safety said sat saw saying says scale scenarios scene science sea
    season secret seeing seem seemed seems sees sell sells sender sending sends sense sentence sentences separate
    sequences serve served serves seven several shall sheet shift ship shock shop shoulder shouldn showing shown
    sick sides silence similar simply sister sit sits sitting situation six skill sleep slow slowly society soil
    sold solution solutions somebody someone sometimes son song sound speak speaker speaking speaks specified
    specifies speech speed spend spending spends spent spirit spoke sport stage stand standards standing stands
    stars starts statements station stay stayed stays steps stock stone stood stopped stopping stops story str
    strategy street strength stress strong structured student study substantial successful successfully suddenly
    suggest suggested suggestion suggests suite summary summer sun supply supports surface surprise systems takes
    taking taste tax tea teacher team teams technology telling tells ten term terms theirs themselves theory
    therefore thereof thinking thinks thirty thousand throughout thus today together told tomorrow tone took touch
    toward towards town track trade traffic train training transactions transport travel trees trials tried tries
    trip trouble trust truth turned turning turns twelve twenty twice unchanged underneath understand understanding
    understands understood union units university unlikely unnecessary until useful usually variables verification
    verified verifies verify versions visit voice waited waiting waits walk walked walking walks wall wanted wants
    war warm wasn waste watch watched watches watching water ways weak weather week weeks went weren wet whereas
    whitespace whom whose wife win wind wine winners winter wish woman women won wonder wood worker worry worse
    worst wouldn writer wrong wrote years yesterday yield young yourself zone
"""
WORDS_AFTER_A_SPACE = frozenset(_AFTER_A_SPACE.split())

COMMON_CHARACTERS = frozenset(
    "ªµ·ºÀÁÂÃÄÇÉÍÎÐÑÓÖ×ÚÜßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýāăąćčĐ"
    "đēęěğīİıłńōőœřśşšţťūůűźżžơưșțəɵάέήίαβγδεηθικλμνοπρςστυφχ"
    "ωόЂАБВГДЕЗИКЛМНОПРСТУФЦЧЭЯабвгдежзийклмнопрстуфхцчшщъыьэ"
    "юяёіאבדהוחילמנערשתأإابةتثجحخدذرزسشصضطظعغفقكلمنهوىيپکگیकत"
    "नपमरलसहনরạảấầẩậắặếềểệỉịọỏốồổỗộớờởợụủứửữự–—‘’“”•…€→、。《》「」"
    "【】あいうえおかがきくけこごさざしじすせそただちっつてでとどなにのはばまみめもやよらりるれろわをんアィイウェエオ"
    "カキクグコサシジスズセタダチッテデトドナニバパビピフブプペポマムメャュョラリルレロン・一万三上下不与专业东两个中"
    "串为主么义之也书了事二于五些交产享京人亿今介从他付代以们件价任份企优会传但位体何余作你使例供価保信修倍值停像元先"
    "入全公共关其具内円册再写出击分列则初利别到制前力功加务动動包化北区十午华单南即历原去县参及友反发取变口只可台右号"
    "司合同名后向否含听启告员周命和品哈商問器四回因国图土在地场址型城基報場填增声处备复外多大天失头女好如始子字存学安"
    "宋完定实审客家容密对导将小少尔就局展山岁州工左已市布常平年并广序库应店度建开异式引张当录形影径待後得微心必志态思"
    "性总息您情意感成我或户所手打找技投报拉持指按换据排接推提播支收改放政效数整文料断新方族无日时明易星是時景更最月有"
    "服期木未本机权束条来板构析果查标样核格案检模次款止正此步歳段每比民気水求江汽没治法注活流海消清游源火点無然片版物"
    "特率环现球理生用由电男画界番登的监目直相省看県真知码确示社票私种科秒称移程稍税稿空立站章端笑符第等签简算管箱米类"
    "系素索约级线组经结给络统编网置美老考者而联能自至色节英藏行表装西要見见规视角解言計記話読计议记论设证评试话询该详"
    "语误说请读调象责败账货购费资起超路身车转软载辑输达过运近还这进连述退送选通速造連道邮部都配释里重量金钟钮链销错键"
    "长開間関门闭问间队阳陆限院除雅集雷需非面音页项预频题额首验高黑가간값개거게결경고공과구그글기나내는능니다당대도동"
    "되된드든들디라래러력로록료류른를름리만메면명목문미버번보복부분비사산상색생서성세션소수스습시식신아야어에여열오와"
    "요용우운원위으은을음의이인일임입자작재적전정제져조주지진째체출치터턴트튼하한할함해호화환！（），：？"
    "\u0902\u093e\u093f\u0940\u0941\u0947\u094b\u094d\u09be\u09bf\u09c7\u09cd\u0bbf\u0bc1\u0bcd\u0d4d"
)
"""The last line holds the vowel signs of Indic scripts."""
